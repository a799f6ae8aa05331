// Reading and folding of quantize-dequantize pairs, for what works on graphs that carry them.
#pragma once

#include <optional>
#include <span>

#include "quantize/strategy/qdq_parameters.h"

namespace ec {
struct PassContext;
}

namespace ec::quantize {

inline bool operator==(const PairParams& a, const PairParams& b) {
  return a.dtype == b.dtype && a.params == b.params;
}

// As constant_params(), in the type that the integers have.
std::optional<PairParams> stored_params(const Operation& op);

// Whether every value is a step of these parameters, which have one scale.
bool are_steps(std::span<const float> values, const QuantParams& params, DType dtype);

// expose_rounding() behind passes: dequantised constants become real numbers, and what depends on
// such constants alone is computed, through any number of roundings.
Status fold_rounding(Graph& graph, PassContext& context);

}  // namespace ec::quantize
