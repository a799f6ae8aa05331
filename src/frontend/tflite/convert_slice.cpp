// SLICE and STRIDED_SLICE.
#include <algorithm>

#include "frontend/strided_slice.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

Status slice(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, slice_of_sizes(ctx));
  return ctx.set(0, y);
}

Status strided_slice(OpContext& ctx) {
  const auto& options = ctx.options<StridedSliceOptions>();
  if (options.offset()) return ctx.unsupported("ends that are offsets are not supported");
  const SliceMasks masks{options.begin_mask(), options.end_mask(), options.ellipsis_mask(),
                         options.new_axis_mask(), options.shrink_axis_mask()};
  EC_TRY(ec::Tensor * y, StridedSlice(ctx, masks).convert());
  return ctx.set(0, y);
}

// Along the listed axes, from the last element to the first.
Status reverse(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  ReverseAttrs attrs;
  EC_TRY(attrs.axes, ctx.need_ints(1, "axis"));
  for (int64_t& axis : attrs.axes) {
    EC_TRY(axis, ctx.axis(axis, rank));
  }
  return ctx.finish(OpKind::Reverse, {ctx.in(0)}, attrs);
}

Status dynamic_update_slice(OpContext& ctx) {
  EC_TRY(ec::Tensor * starts, ctx.as_i64(2));
  return ctx.finish(OpKind::DynamicUpdateSlice, {ctx.in(0), ctx.in(1), starts});
}

constexpr OpRow kRows[] = {
    {BuiltinOperator::SLICE, {3, 3}, {1, 1}, slice},
    {BuiltinOperator::STRIDED_SLICE, {4, 4}, {1, 1}, strided_slice},
    {BuiltinOperator::REVERSE_V2, {2, 2}, {1, 1}, reverse},
    {BuiltinOperator::DYNAMIC_UPDATE_SLICE, {3, 3}, {1, 1}, dynamic_update_slice},
};

}  // namespace

const std::span<const OpRow> kSliceRows = kRows;

}  // namespace ec::tflite
