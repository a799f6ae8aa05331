// Slice, StridedSlice and their relatives.
#include <algorithm>

#include "frontend/strided_slice.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status slice(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, slice_of_sizes(ctx));
  return ctx.set(0, y, ctx.is_complex());
}

Status strided_slice(OpContext& ctx) {
  const SliceMasks masks{ctx.attr_int("begin_mask"), ctx.attr_int("end_mask"),
                         ctx.attr_int("ellipsis_mask"), ctx.attr_int("new_axis_mask"),
                         ctx.attr_int("shrink_axis_mask")};
  if (ctx.is_complex() && (masks.ellipsis != 0 || masks.new_axis != 0))
    return ctx.unsupported("this slice of complex numbers is not supported");
  EC_TRY(ec::Tensor * y, StridedSlice(ctx, masks).convert());
  return ctx.set(0, y, ctx.is_complex());
}

// Along the listed axes, from the last element to the first.
Status reverse(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  ReverseAttrs attrs;
  EC_TRY(attrs.axes, ctx.need_ints(1, "axis"));
  for (int64_t& axis : attrs.axes) {
    EC_TRY(axis, ctx.axis(axis, rank));
  }
  if (attrs.axes.empty()) return ctx.set(0, ctx.in(0));
  return ctx.finish(OpKind::Reverse, {ctx.in(0)}, attrs);
}

Status reverse_sequence(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  ReverseSequenceAttrs attrs;
  EC_TRY(attrs.time_axis, ctx.axis(ctx.attr_int("seq_dim"), rank));
  EC_TRY(attrs.batch_axis, ctx.axis(ctx.attr_int("batch_dim", 0), rank));
  EC_TRY(ec::Tensor * lengths, ctx.as_i64(1));
  return ctx.finish(OpKind::ReverseSequence, {ctx.in(0), lengths}, attrs);
}

// Elements move on by `shift` along an axis; those that leave come back at the other end.
Status roll(OpContext& ctx) {
  EC_TRY(const std::vector<int64_t> shifts, ctx.need_ints(1, "shift"));
  EC_TRY(const std::vector<int64_t> axes, ctx.need_ints(2, "axis"));
  EC_TRY(const size_t rank, ctx.rank());
  if (shifts.size() != axes.size()) return ctx.fail(Code::ShapeMismatch, "shift and axis differ");
  ec::Tensor* x = ctx.in(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    EC_TRY(const int64_t axis, ctx.axis(axes[i], rank));
    const Dim size = (*ctx.in(0)->shape())[static_cast<size_t>(axis)];
    if (!size.is_static()) return ctx.fail(Code::DynamicShape, "the size has to be known");
    if (size.size() == 0) continue;
    int64_t shift = shifts[i] % size.size();
    if (shift == 0) continue;
    if (shift < 0) shift += size.size();
    EC_TRY(ec::Tensor * tail, ctx.slice(x, axis, size.size() - shift, size.size()));
    EC_TRY(ec::Tensor * head, ctx.slice(x, axis, 0, size.size() - shift));
    EC_TRY(x, ctx.concat({tail, head}, axis));
  }
  return ctx.set(0, x);
}

constexpr OpRow kRows[] = {
    {"Slice", {3, 3}, slice, Takes::Complex},
    {"StridedSlice", {4, 4}, strided_slice, Takes::Complex},
    {"ReverseV2", {2, 2}, reverse},
    {"ReverseSequence", {2, 2}, reverse_sequence},
    {"Roll", {3, 3}, roll},
};

}  // namespace

const std::span<const OpRow> kSliceRows = kRows;

}  // namespace ec::tf
