#include "ops/axis.h"

#include "ops/convert.h"

namespace ec {

AxisSplit split_at_axis(std::span<const int64_t> shape, int64_t axis) {
  const auto at = static_cast<size_t>(axis);
  return {count_elements(shape.first(at)), shape[at], count_elements(shape.subspan(at + 1))};
}

Result<int64_t> kernel_axis(const KernelContext& ctx, int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    return ctx.fail("axis " + std::to_string(axis) + " is outside the " + std::to_string(rank) +
                    " dimensions of the input");
  return axis < 0 ? axis + r : axis;
}

Result<int64_t> single_int(const KernelContext& ctx, size_t operand) {
  const ConstView& view = ctx.input(operand);
  if (!is_integer(view.dtype) || view.count() != 1)
    return ctx.fail("operand " + std::to_string(operand) + " must be a single integer");
  return Reader<int64_t>(view)[0];
}

}  // namespace ec
