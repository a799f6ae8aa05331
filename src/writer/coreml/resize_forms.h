// Resizes as programs have them: which operation reads the same pixels with the same weights.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/resize_taps.h"
#include "support/result.h"

namespace ec::mil {

class OpEmitter;

// Ways to place linear samples, with the graph's words for them.
struct Sampling {
  std::string_view name;
  CoordinateMode coordinates;
};
inline constexpr Sampling kSamplings[] = {{"UNALIGN_CORNERS", CoordinateMode::HalfPixel},
                                          {"STRICT_ALIGN_CORNERS", CoordinateMode::AlignCorners},
                                          {"DEFAULT", CoordinateMode::Asymmetric}};

ResizeAttrs resize_rule(ResizeMode mode, CoordinateMode coordinates);

// Whether an axis reads the same elements with the same weights by both rules.
bool same_taps(const ResizeAttrs& attrs, const ResizeAxis& axis, const ResizeAttrs& other);

// A resize of open sizes: by whole factors, or to sizes that are given when the model runs.
struct OpenResize {
  int64_t factors[2] = {0, 0};  // of height and width; 0: to sizes
  std::string_view sampling;    // of linear interpolation; empty: the nearest pixel
};
std::optional<OpenResize> open_resize_of(const Operation& op);
Status emit_open_resize(OpEmitter& e, const OpenResize& form);

}  // namespace ec::mil
