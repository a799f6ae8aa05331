// Padding, gathering and choosing as TensorFlow and TFLite define them. `Context` is what the
// converters of a front end see; both have the same names for what is needed here.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "frontend/known_values.h"
#include "ir/graph.h"
#include "ops/attrs.h"
#include "support/result.h"

namespace ec {

// Input 1, [[before, after], ...], as all befores, then all afters.
template <class Context>
Result<Tensor*> pads_of(Context& ctx) {
  if (const auto known = known_ints(ctx.in(1))) {
    if (known->size() % 2 != 0)
      return ctx.fail(Code::ShapeMismatch, "the paddings are no list of pairs");
    std::vector<int64_t> pads;
    for (size_t side = 0; side < 2; ++side)
      for (size_t i = side; i < known->size(); i += 2) pads.push_back((*known)[i]);
    return ctx.ints(pads);
  }
  EC_TRY(Tensor * pads, ctx.cast(ctx.in(1), DType::I64));
  EC_TRY(pads, ctx.transpose(pads, {1, 0}));
  return ctx.reshape(pads, std::vector<int64_t>{-1});
}

// The mirror image with the border element repeated: slices from the ends, reversed, around x.
template <class Context>
Result<Tensor*> pad_symmetric(Context& ctx, Tensor* x, int64_t axis, int64_t before,
                              int64_t after) {
  const auto reversed = [&](int64_t from, int64_t to) {
    return ctx.add(OpKind::Slice,
                   {x, ctx.ints({from}), ctx.ints({to}), ctx.ints({axis}), ctx.ints({-1})});
  };
  std::vector<Tensor*> parts;
  if (before > 0) {
    EC_TRY(Tensor * part, reversed(before - 1, INT64_MIN));
    parts.push_back(part);
  }
  parts.push_back(x);
  if (after > 0) {
    EC_TRY(Tensor * part, reversed(-1, -after - 1));
    parts.push_back(part);
  }
  AxisAttrs attrs;
  attrs.axis = axis;
  return parts.size() == 1 ? Result<Tensor*>(x) : ctx.add(OpKind::Concat, parts, attrs);
}

// Input 0 with the paddings of input 1, mirrored with or without its border elements.
template <class Context>
Result<Tensor*> mirrored(Context& ctx, bool with_border) {
  if (!with_border) {
    EC_TRY(Tensor * pads, pads_of(ctx));
    PadAttrs attrs;
    attrs.mode = PadMode::Reflect;
    return ctx.add(OpKind::Pad, {ctx.in(0), pads}, attrs);
  }
  EC_TRY(const std::vector<int64_t> pairs, ctx.need_ints(1, "paddings"));
  EC_TRY(const size_t rank, ctx.rank());
  if (pairs.size() != 2 * rank) return ctx.fail(Code::ShapeMismatch, "paddings do not fit");
  Tensor* x = ctx.in(0);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = pairs[2 * d], after = pairs[2 * d + 1];
    const Dim size = (*ctx.in(0)->shape())[d];
    if (before == 0 && after == 0) continue;
    if (before < 0 || after < 0 || !size.is_static() || before > size.size() || after > size.size())
      return ctx.fail(Code::BadValue, "a dimension of " + size.text() + " cannot be mirrored by " +
                                          std::to_string(before) + " and " + std::to_string(after));
    EC_TRY(x, pad_symmetric(ctx, x, static_cast<int64_t>(d), before, after));
  }
  return x;
}

// x gathered along an axis by the indices of input 1, where every batch has indices of its own:
// gather_nd does that for the dimension after the batch, so the axis moves there and what it leaves
// moves back. Requires batch <= axis < rank of x.
template <class Context>
Result<Tensor*> gathered_by_batch(Context& ctx, Tensor* x, int64_t axis, int64_t batch) {
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin() + batch, axis);
  if (axis != batch) {
    EC_TRY(x, ctx.transpose(x, perm));
  }
  EC_TRY(const size_t index_rank, ctx.rank(1));
  EC_TRY(Tensor * indices, ctx.cast(ctx.in(1), DType::I64));
  EC_TRY(indices, ctx.unsqueeze(indices, std::vector<int64_t>{static_cast<int64_t>(index_rank)}));
  GatherNdAttrs attrs;
  attrs.batch_dims = batch;
  EC_TRY(Tensor * y, ctx.add(OpKind::GatherNd, {x, indices}, attrs));
  if (axis == batch) return y;
  // y: batch..., indices..., the dimensions between batch and axis, those after it.
  const auto count = static_cast<int64_t>(index_rank) - batch;
  std::vector<int64_t> back;
  for (int64_t d = 0; d < batch; ++d) back.push_back(d);
  for (int64_t d = batch; d < axis; ++d) back.push_back(d + count);
  for (int64_t d = 0; d < count; ++d) back.push_back(batch + d);
  for (int64_t d = axis; d + 1 < rank; ++d) back.push_back(d + count);
  return ctx.transpose(y, back);
}

template <class Context>
Status tile(Context& ctx) {
  EC_TRY(Tensor * repeats, ctx.as_i64(1));
  return ctx.finish(OpKind::Tile, {ctx.in(0), repeats});
}

template <class Context>
Status gather_nd(Context& ctx) {
  EC_TRY(Tensor * indices, ctx.cast(ctx.in(1), DType::I64));
  return ctx.finish(OpKind::GatherNd, {ctx.in(0), indices}, GatherNdAttrs{});
}

// scatter_nd(indices, updates, shape): zeros elsewhere. Updates with the same index add up.
template <class Context>
Status scatter_nd(Context& ctx) {
  EC_TRY(Tensor * shape, ctx.as_i64(2));
  EC_TRY(Tensor * zeros, ctx.add(OpKind::Fill, {shape, ctx.scalar(ctx.dtype(1), 0.0)}));
  EC_TRY(Tensor * indices, ctx.cast(ctx.in(0), DType::I64));
  ScatterNdAttrs attrs;
  attrs.reduction = Reduction::Add;
  return ctx.finish(OpKind::ScatterNd, {zeros, indices, ctx.in(1)}, attrs);
}

// select(condition, x, y), where a list as condition chooses whole entries of the first dimension.
template <class Context>
Status select(Context& ctx) {
  Tensor* condition = ctx.in(0);
  EC_TRY(const size_t rank, ctx.rank(0));
  EC_TRY(const size_t value_rank, ctx.rank(1));
  if (rank == 1 && value_rank > 1) {
    std::vector<int64_t> axes(value_rank - 1);
    std::iota(axes.begin(), axes.end(), 1);
    EC_TRY(condition, ctx.unsqueeze(condition, axes));
  }
  return ctx.finish(OpKind::Where, {condition, ctx.in(1), ctx.in(2)});
}

}  // namespace ec
