// Which input elements, with which weights, make one output element of a resize along one axis.
// Resizing is separable: kernels apply these lists axis by axis.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/attrs.h"
#include "ops/value.h"

namespace ec {

struct ResizeAxis {
  int64_t input = 1, output = 1;
  double scale = 1.0;                     // as given; output / input when sizes are given
  double roi_begin = 0.0, roi_end = 1.0;  // for the crop_and_resize coordinates

  bool is_identity(CoordinateMode mode) const {
    return input == output && scale == 1.0 &&
           (mode != CoordinateMode::CropAndResize || (roi_begin == 0.0 && roi_end == 1.0));
  }
};

struct ResizeTaps {
  int64_t per_output = 1;        // entries in index and weight of each output element
  std::vector<int64_t> index;    // inside the input: the edges are repeated
  std::vector<double> weight;    // 1 for nearest
  std::vector<uint8_t> outside;  // whole element takes the extrapolation value; empty: none does
};

// Whether the lists of an axis are small enough for a rewrite or a fast kernel: a file of some
// bytes may name images of any size.
bool has_small_taps(const ResizeAttrs& attrs, const ResizeAxis& axis);

// Requires input >= 1.
ResizeTaps resize_taps(const ResizeAttrs& attrs, const ResizeAxis& axis);

// One entry per dimension of x, from the operands as the kernel sees them (null: absent). Requires
// what inference has checked.
std::vector<ResizeAxis> resize_axes(const ResizeAttrs& attrs, std::span<const int64_t> input,
                                    std::span<const int64_t> output, const ConstView* roi,
                                    const ConstView* scales, const ConstView* sizes);

}  // namespace ec
