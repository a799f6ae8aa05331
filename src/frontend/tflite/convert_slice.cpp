// SLICE and STRIDED_SLICE.
#include <algorithm>

#include "frontend/strided_slice.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

// slice(x, begin, size): -1 means up to the end.
Status slice(OpContext& ctx) {
  const auto begin = known_ints(ctx.in(1)), size = known_ints(ctx.in(2));
  if (begin && size) {
    if (begin->size() != size->size())
      return ctx.fail(Code::ShapeMismatch, "begin and size have different lengths");
    std::vector<int64_t> ends;
    for (size_t i = 0; i < begin->size(); ++i)
      ends.push_back((*size)[i] < 0 ? INT64_MAX
                                    : checked_add((*begin)[i], (*size)[i]).value_or(INT64_MAX));
    return ctx.finish(OpKind::Slice, {ctx.in(0), ctx.ints(*begin), ctx.ints(ends)});
  }
  EC_TRY(ec::Tensor * starts, ctx.as_i64(1));
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(2));
  EC_TRY(ec::Tensor * sums, ctx.add(OpKind::Add, {starts, sizes}));
  EC_TRY(ec::Tensor * open, ctx.add(OpKind::Less, {sizes, ctx.scalar(DType::I64, 0.0)}));
  EC_TRY(ec::Tensor * ends, ctx.add(OpKind::Where, {open, ctx.ints({INT64_MAX}), sums}));
  return ctx.finish(OpKind::Slice, {ctx.in(0), starts, ends});
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
