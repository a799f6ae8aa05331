// Shapes: reshape and its relatives, and tensors made from shapes.
#include <algorithm>

#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

constexpr DType kI64 = DType::I64;

std::vector<int64_t> to_i64(const flatbuffers::Vector<int32_t>* list) {
  std::vector<int64_t> out;
  if (list != nullptr) out.assign(list->begin(), list->end());
  return out;
}

// The wanted sizes: the second input, or an option in files of early converters.
Result<ec::Tensor*> wanted_sizes(OpContext& ctx) {
  if (ctx.has(1)) {
    EC_TRY(const size_t rank, ctx.rank(1));
    const auto known = known_ints(ctx.in(1));
    if (rank == 1 || !known) return ctx.as_i64(1);
    return ctx.ints(*known);
  }
  std::vector<int64_t> shape = to_i64(ctx.options<ReshapeOptions>().new_shape());
  if (shape == std::vector<int64_t>{0}) shape.clear();  // how early files wrote a scalar
  return ctx.ints(shape);
}

Status reshape(OpContext& ctx) {
  ReshapeAttrs attrs;
  attrs.allow_zero = true;
  EC_TRY(ec::Tensor * sizes, wanted_sizes(ctx));
  if (ctx.is_complex_input()) {
    EC_TRY(sizes, ctx.add(OpKind::Concat, {sizes, ctx.ints({2})}, AxisAttrs{}));
  }
  return ctx.finish(OpKind::Reshape, {ctx.in(0), sizes}, attrs);
}

// An axis that counts from the end stands before the dimension of the parts of complex numbers.
int64_t axis_before_parts(const OpContext& ctx, int64_t axis) {
  return axis < 0 && ctx.is_complex_input() ? axis - 1 : axis;
}

Status squeeze(OpContext& ctx) {
  std::vector<int64_t> axes = to_i64(ctx.options<SqueezeOptions>().squeeze_dims());
  if (axes.empty()) return ctx.finish(OpKind::Squeeze, {ctx.in(0)});
  for (int64_t& axis : axes) axis = axis_before_parts(ctx, axis);
  return ctx.finish(OpKind::Squeeze, {ctx.in(0), ctx.ints(axes)});
}

Status expand_dims(OpContext& ctx) {
  EC_TRY(const int64_t axis, ctx.need_int(1, "axis"));
  return ctx.finish(OpKind::Unsqueeze, {ctx.in(0), ctx.ints({axis_before_parts(ctx, axis)})});
}

Status broadcast_to(OpContext& ctx) {
  EC_TRY(ec::Tensor * shape, ctx.as_i64(1));
  return ctx.finish(OpKind::Expand, {ctx.in(0), shape});
}

// The shape that two shapes broadcast to: of each pair of sizes the one that is not 1.
Status broadcast_args(OpContext& ctx) {
  const ec::Tensor* inputs[] = {ctx.in(0), ctx.in(1)};
  int64_t lengths[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto count = inputs[i]->type().num_elements();
    if (!count) return ctx.fail(Code::DynamicShape, "the lengths of the shapes have to be known");
    lengths[i] = *count;
  }
  const int64_t rank = std::max(lengths[0], lengths[1]);
  ec::Tensor* padded[2];
  for (size_t i = 0; i < 2; ++i) {
    padded[i] = ctx.in(i);
    if (lengths[i] == rank) continue;
    if (rank > 64) return ctx.fail(Code::BadValue, "a shape of " + std::to_string(rank) + " sizes");
    EC_TRY(ec::Tensor * ones,
           ctx.cast(ctx.ints(std::vector<int64_t>(static_cast<size_t>(rank - lengths[i]), 1)),
                    ctx.dtype(i)));
    EC_TRY(padded[i], ctx.add(OpKind::Concat, {ones, ctx.in(i)}, AxisAttrs{}));
  }
  EC_TRY(ec::Tensor * is_one, ctx.add(OpKind::Equal, {padded[0], ctx.scalar(ctx.dtype(0), 1.0)}));
  return ctx.finish(OpKind::Where, {is_one, padded[1], padded[0]});
}

Status shape(OpContext& ctx) {
  EC_TRY(const DType dtype, ctx.out_dtype());
  ShapeAttrs attrs;
  if (ctx.is_complex_input()) attrs.end = -1;
  EC_TRY(ec::Tensor * sizes, ctx.add(OpKind::Shape, {ctx.in(0)}, attrs));
  EC_TRY(sizes, ctx.cast(sizes, dtype));
  return ctx.set(0, sizes);
}

Status rank(OpContext& ctx) {
  EC_TRY(const size_t dims, ctx.rank());
  return ctx.set(0, ctx.scalar(DType::I32, static_cast<double>(dims)));
}

Status fill(OpContext& ctx) {
  EC_TRY(ec::Tensor * shape, ctx.as_i64(0));
  return ctx.finish(OpKind::Fill, {shape, ctx.in(1)});
}

Status zeros_like(OpContext& ctx) {
  EC_TRY(ec::Tensor * sizes, ctx.add(OpKind::Shape, {ctx.in(0)}, ShapeAttrs{}));
  return ctx.finish(OpKind::Fill, {sizes, ctx.scalar(ctx.dtype(), 0.0)});
}

// A new dimension that holds `on` where its position is the index; indices outside it point to
// nothing.
Status one_hot(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  EC_TRY(const int64_t axis, ctx.axis(ctx.options<OneHotOptions>().axis(), rank + 1));
  EC_TRY(ec::Tensor * depth, ctx.cast(ctx.in(1), kI64));
  EC_TRY(const size_t depth_rank, ctx.rank(1));
  if (depth_rank != 0) {
    EC_TRY(depth, ctx.reshape(depth, std::vector<int64_t>{}));
  }
  EC_TRY(ec::Tensor * positions,
         ctx.add(OpKind::Range, {ctx.scalar(kI64, 0.0), depth, ctx.scalar(kI64, 1.0)}));
  std::vector<int64_t> shape(rank + 1 - static_cast<size_t>(axis), 1);
  shape[0] = -1;
  EC_TRY(positions, ctx.reshape(positions, shape));
  EC_TRY(ec::Tensor * indices, ctx.cast(ctx.in(0), kI64));
  EC_TRY(indices, ctx.unsqueeze(indices, std::vector<int64_t>{axis}));
  EC_TRY(ec::Tensor * hits, ctx.add(OpKind::Equal, {indices, positions}));
  return ctx.finish(OpKind::Where, {hits, ctx.in(2), ctx.in(3)});
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, k4{4, 4};
constexpr bool kComplex = true;

constexpr OpRow kRows[] = {
    {BuiltinOperator::RESHAPE, {1, 2}, k1, reshape, false, kComplex},
    {BuiltinOperator::SQUEEZE, k1, k1, squeeze, false, kComplex},
    {BuiltinOperator::EXPAND_DIMS, k2, k1, expand_dims, false, kComplex},
    {BuiltinOperator::BROADCAST_TO, k2, k1, broadcast_to},
    {BuiltinOperator::BROADCAST_ARGS, k2, k1, broadcast_args},
    {BuiltinOperator::SHAPE, k1, k1, shape, false, kComplex},
    {BuiltinOperator::RANK, k1, k1, rank},
    {BuiltinOperator::FILL, k2, k1, fill},
    {BuiltinOperator::ZEROS_LIKE, k1, k1, zeros_like},
    {BuiltinOperator::RANGE, k3, k1, direct<OpKind::Range>},
    {BuiltinOperator::ONE_HOT, k4, k1, one_hot},
};

}  // namespace

const std::span<const OpRow> kShapeRows = kRows;

}  // namespace ec::tflite
