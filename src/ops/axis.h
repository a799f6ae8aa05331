// Kernels that work along one axis: a tensor seen as [outer, size, inner] around it.
#pragma once

#include <cstdint>
#include <span>

#include "ops/kernel.h"

namespace ec {

struct AxisSplit {
  int64_t outer = 1, size = 1, inner = 1;
};
// Requires 0 <= axis < rank. An empty tensor gives outer == 0 or inner == 0, unless only the axis
// itself is empty.
AxisSplit split_at_axis(std::span<const int64_t> shape, int64_t axis);

// axis in [-rank, rank) to [0, rank). Kernels check axes from operands themselves: inference may
// not have seen their values.
Result<int64_t> kernel_axis(const KernelContext& ctx, int64_t axis, size_t rank);
// The only element of an integer operand.
Result<int64_t> single_int(const KernelContext& ctx, size_t operand);

}  // namespace ec
