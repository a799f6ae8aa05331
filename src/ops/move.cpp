#include "ops/move.h"

#include <algorithm>
#include <cstring>

namespace ec {

std::vector<int64_t> read_ints(const KernelContext& ctx, size_t i) {
  std::vector<int64_t> values(static_cast<size_t>(ctx.input(i).count()));
  load<int64_t>(ctx.input(i), values);
  return values;
}

Status prepare_output(KernelContext& ctx, size_t i, DType dtype, std::vector<int64_t> shape) {
  if (!ctx.is_allocated(i)) return ctx.allocate(i, dtype, std::move(shape));
  const MutableView& view = ctx.output(i);
  if (view.dtype == dtype &&
      std::equal(shape.begin(), shape.end(), view.shape.begin(), view.shape.end()))
    return {};
  return ctx.fail("the result is " + TensorType(dtype, Shape::of(shape)).text() + ", " +
                  TensorType(view.dtype, Shape::of(view.shape)).text() + " was expected");
}

Status copy_through(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  if (x.bytes() != y.bytes())
    return ctx.fail(std::to_string(x.count()) + " elements do not fill the shape " +
                    Shape::of(y.shape).text());
  // A memory planner may have given both the same memory.
  if (x.data != y.data && x.bytes() > 0) std::memmove(y.data, x.data, x.bytes());
  return {};
}

std::vector<std::byte> zero_element(const MutableView& view) {
  std::vector<std::byte> element(element_size(view.dtype));
  if (view.quant != nullptr && !view.quant->per_channel() && view.quant->zero_points.size() == 1) {
    const int64_t zero_point = view.quant->zero_points[0];
    store<int64_t>(MutableView{view.dtype, {}, element.data(), nullptr},
                   std::span<const int64_t>(&zero_point, 1));
  } else if (view.dtype == DType::F8E8M0) {
    // The format has no zero; its smallest number is all bits clear.
    element[0] = std::byte{0};
  }
  return element;
}

AxisSplit split_at(std::span<const int64_t> shape, size_t axis) {
  AxisSplit split;
  split.outer = count_elements(shape.first(axis));
  split.size = shape[axis];
  split.inner = count_elements(shape.subspan(axis + 1));
  return split;
}

}  // namespace ec
