// Shapes: reshape and its relatives, and tensors made from shapes.
#include <algorithm>

#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/types.h"

namespace ec::tf {
namespace {

constexpr DType kI64 = DType::I64;

Result<ec::Tensor*> shape_of(OpContext& ctx, size_t i, DType dtype) {
  ShapeAttrs attrs;
  if (ctx.is_complex(i)) attrs.end = -1;
  EC_TRY(ec::Tensor * sizes, ctx.add(OpKind::Shape, {ctx.in(i)}, attrs));
  return ctx.cast(sizes, dtype);
}

Status shape(OpContext& ctx) {
  EC_TRY(const DType dtype, ctx.attr_dtype("out_type", DataType::Int32));
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    EC_TRY(ec::Tensor * sizes, shape_of(ctx, i, dtype));
    EC_CHECK_OK(ctx.set(i, sizes));
  }
  return {};
}

Status size(OpContext& ctx) {
  EC_TRY(const DType dtype, ctx.attr_dtype("out_type", DataType::Int32));
  EC_TRY(ec::Tensor * count, ctx.add(OpKind::Size, {ctx.in(0)}));
  EC_TRY(count, ctx.cast(count, dtype));
  return ctx.set(0, count);
}

Status rank(OpContext& ctx) {
  EC_TRY(size_t dims, ctx.rank());
  if (ctx.is_complex()) --dims;
  return ctx.set(0, ctx.scalar(DType::I32, static_cast<double>(dims)));
}

Status reshape(OpContext& ctx) {
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(1));
  if (ctx.is_complex()) {
    EC_TRY(sizes, ctx.concat({sizes, ctx.ints({2})}, 0));
  }
  EC_TRY(ec::Tensor * y, ctx.reshape(ctx.in(0), sizes));
  return ctx.set(0, y, ctx.is_complex());
}

// An axis that counts from the end stands before the dimension of the parts of complex numbers.
int64_t before_parts(const OpContext& ctx, int64_t axis) {
  return axis < 0 && axis != INT64_MIN && ctx.is_complex() ? axis - 1 : axis;
}

Status squeeze(OpContext& ctx) {
  std::vector<int64_t> axes = ctx.attr_ints("squeeze_dims");
  if (axes.empty()) axes = ctx.attr_ints("axis");
  for (int64_t& axis : axes) axis = before_parts(ctx, axis);
  EC_TRY(ec::Tensor * y,
         axes.empty() ? ctx.add(OpKind::Squeeze, {ctx.in(0)}) : ctx.squeeze(ctx.in(0), axes));
  return ctx.set(0, y, ctx.is_complex());
}

Status expand_dims(OpContext& ctx) {
  EC_TRY(const int64_t axis, ctx.need_int(1, "dim"));
  EC_TRY(ec::Tensor * y, ctx.unsqueeze(ctx.in(0), {before_parts(ctx, axis)}));
  return ctx.set(0, y, ctx.is_complex());
}

// The declared shape is a promise: it tells what inference could not.
Status ensure_shape(OpContext& ctx) {
  const PartialShape wanted = ctx.attr_shape("shape");
  const auto& have = ctx.in(0)->shape();
  if (!wanted || ctx.is_complex()) return ctx.set(0, ctx.in(0), ctx.is_complex());
  if (have && have->rank() != wanted->size())
    return ctx.fail(Code::ShapeMismatch, "the input is " + ctx.in(0)->type().text());
  const auto open = std::count(wanted->begin(), wanted->end(), -1);
  if (open > 1 || (have && have->is_static())) return ctx.set(0, ctx.in(0));
  EC_TRY(ec::Tensor * y, ctx.reshape(ctx.in(0), *wanted));
  return ctx.set(0, y);
}

Status broadcast_to(OpContext& ctx) {
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(1));
  return ctx.finish(OpKind::Expand, {ctx.in(0), sizes});
}

// The shape that two shapes broadcast to: of each pair of sizes the one that is not 1.
Status broadcast_args(OpContext& ctx) {
  ec::Tensor* padded[2];
  int64_t lengths[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto count = ctx.in(i)->type().num_elements();
    if (!count || *count > 64)
      return ctx.fail(Code::DynamicShape, "the lengths of the shapes have to be known");
    lengths[i] = *count;
  }
  const int64_t length = std::max(lengths[0], lengths[1]);
  for (size_t i = 0; i < 2; ++i) {
    padded[i] = ctx.in(i);
    if (lengths[i] == length) continue;
    EC_TRY(ec::Tensor * ones,
           ctx.cast(ctx.ints(std::vector<int64_t>(static_cast<size_t>(length - lengths[i]), 1)),
                    ctx.dtype(i)));
    EC_TRY(padded[i], ctx.concat({ones, ctx.in(i)}, 0));
  }
  EC_TRY(ec::Tensor * is_one, ctx.add(OpKind::Equal, {padded[0], ctx.scalar(ctx.dtype(0), 1.0)}));
  return ctx.finish(OpKind::Where, {is_one, padded[1], padded[0]});
}

Status fill(OpContext& ctx) {
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(0));
  return ctx.finish(OpKind::Fill, {sizes, ctx.in(1)});
}

template <int kValue>
Status like(OpContext& ctx) {
  if (ctx.value(0).kind == TfValue::Kind::List) return ctx.unsupported("zeros like a list");
  if (ctx.is_complex()) {
    EC_TRY(ec::Tensor * y, ctx.add(OpKind::Mul, {ctx.in(0), ctx.scalar(ctx.dtype(), 0.0)}));
    return ctx.set(0, y, true);
  }
  EC_TRY(ec::Tensor * sizes, ctx.add(OpKind::Shape, {ctx.in(0)}, ShapeAttrs{}));
  return ctx.finish(OpKind::Fill, {sizes, ctx.scalar(ctx.dtype(), kValue)});
}

Status range(OpContext& ctx) {
  return ctx.finish(OpKind::Range, {ctx.in(0), ctx.in(1), ctx.in(2)});
}

// start + i * (stop - start) / (n - 1)
Status lin_space(OpContext& ctx) {
  EC_TRY(const int64_t count, ctx.need_int(2, "num"));
  if (count < 1 || count > (1 << 24))
    return ctx.fail(Code::BadValue, std::to_string(count) + " numbers");
  const DType dtype = ctx.dtype();
  if (count == 1) {
    EC_TRY(ec::Tensor * only, ctx.reshape(ctx.in(0), {1}));
    return ctx.set(0, only);
  }
  EC_TRY(ec::Tensor * steps, ctx.add(OpKind::Range, {ctx.scalar(kI64, 0.0),
                                                     ctx.scalar(kI64, static_cast<double>(count)),
                                                     ctx.scalar(kI64, 1.0)}));
  EC_TRY(steps, ctx.cast(steps, dtype));
  EC_TRY(ec::Tensor * width, ctx.add(OpKind::Sub, {ctx.in(1), ctx.in(0)}));
  EC_TRY(width, ctx.add(OpKind::Div, {width, ctx.scalar(dtype, static_cast<double>(count - 1))}));
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Mul, {steps, width}));
  return ctx.finish(OpKind::Add, {y, ctx.in(0)});
}

// A new dimension that holds `on` where its position is the index; indices outside it point to
// nothing.
Status one_hot(OpContext& ctx) {
  EC_TRY(const size_t dims, ctx.rank());
  EC_TRY(const int64_t axis, ctx.axis(ctx.attr_int("axis", -1), dims + 1));
  EC_TRY(ec::Tensor * depth, ctx.cast(ctx.in(1), kI64));
  EC_TRY(ec::Tensor * positions,
         ctx.add(OpKind::Range, {ctx.scalar(kI64, 0.0), depth, ctx.scalar(kI64, 1.0)}));
  std::vector<int64_t> sizes(dims + 1 - static_cast<size_t>(axis), 1);
  sizes[0] = -1;
  EC_TRY(positions, ctx.reshape(positions, sizes));
  EC_TRY(ec::Tensor * indices, ctx.cast(ctx.in(0), kI64));
  EC_TRY(indices, ctx.unsqueeze(indices, {axis}));
  EC_TRY(ec::Tensor * hits, ctx.add(OpKind::Equal, {indices, positions}));
  return ctx.finish(OpKind::Where, {hits, ctx.in(2), ctx.in(3)});
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, k4{4, 4};
constexpr Takes kC = Takes::Complex;

constexpr OpRow kRows[] = {
    {"Shape", k1, shape, kC},
    {"ShapeN", {1, kMany}, shape, kC},
    {"Size", k1, size},
    {"Rank", k1, rank, kC},
    {"Reshape", k2, reshape, kC},
    {"Squeeze", k1, squeeze, kC},
    {"ExpandDims", k2, expand_dims, kC},
    {"EnsureShape", k1, ensure_shape, kC},
    {"BroadcastTo", k2, broadcast_to},
    {"BroadcastArgs", k2, broadcast_args},
    {"Fill", k2, fill},
    {"ZerosLike", k1, like<0>, kC},
    {"OnesLike", k1, like<1>},
    {"Range", k3, range},
    {"LinSpace", k3, lin_space},
    {"OneHot", k4, one_hot},
};

}  // namespace

const std::span<const OpRow> kShapeRows = kRows;

}  // namespace ec::tf
