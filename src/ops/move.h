// Shared by the kernels that move data.
#pragma once

#include <vector>

#include "ops/convert.h"
#include "ops/kernel.h"
#include "ops/strided_copy.h"

namespace ec {

// Integer operand i, converted.
std::vector<int64_t> read_ints(const KernelContext& ctx, size_t i);
// Result i with this shape: allocated now, or checked against what inference gave.
Status prepare_output(KernelContext& ctx, size_t i, DType dtype, std::vector<int64_t> shape);
// Result 0 = operand 0, element by element, whatever the shapes: for ops that are views.
Status copy_through(KernelContext& ctx);
// The stored form of zero: the zero point where the tensor is quantised as a whole.
std::vector<std::byte> zero_element(const MutableView& view);

// The sizes before, at and after an axis as one number each.
struct AxisSplit {
  int64_t outer = 1, size = 1, inner = 1;
};
AxisSplit split_at(std::span<const int64_t> shape, size_t axis);

}  // namespace ec
