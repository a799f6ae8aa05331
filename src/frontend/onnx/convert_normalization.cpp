// Softmax and normalisation.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

template <OpKind kKind>
Status softmax(NodeContext& ctx) {
  AxisAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

// Before opset 13 the input is seen as a matrix, all dimensions from `axis` on as its columns.
template <OpKind kKind>
Status softmax_of_matrix(NodeContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  int64_t axis = ctx.attr_int("axis", 1);
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis > r || (axis == r && r > 1))
    return ctx.fail(Code::BadValue, "axis " + std::to_string(axis) + " is outside the " +
                                        std::to_string(rank) + " dimensions of the input");
  if (axis < 0) axis += r;
  AxisAttrs attrs;
  attrs.axis = axis;
  // With at most one dimension of the columns larger than 1, the matrix is not needed.
  const Shape& shape = *ctx.in(0)->shape();
  int64_t wide = 0;
  for (int64_t i = axis; i < r; ++i) {
    if (shape[static_cast<size_t>(i)] == Dim(1)) continue;
    ++wide;
    attrs.axis = i;
  }
  if (axis < r && wide <= 1) return ctx.finish(kKind, {ctx.in(0)}, attrs);
  EC_TRY(ec::Tensor * sizes, ctx.add(OpKind::Shape, {ctx.in(0)}, ShapeAttrs{}));
  FlattenAttrs flatten;
  flatten.axis = axis;
  EC_TRY(ec::Tensor * matrix, ctx.add(OpKind::Flatten, {ctx.in(0)}, flatten));
  attrs.axis = 1;
  EC_TRY(matrix, ctx.add(kKind, {matrix}, attrs));
  return ctx.finish(OpKind::Reshape, {matrix, sizes}, ReshapeAttrs{});
}

Status batch_norm(NodeContext& ctx) {
  BatchNormAttrs attrs;
  attrs.epsilon = ctx.attr_float("epsilon", 1e-5f);
  attrs.momentum = ctx.attr_float("momentum", 0.9f);
  ctx.ignore_attr("consumed_inputs");
  ctx.ignore_attr("is_test");
  if (!ctx.attr_bool("spatial", true))
    return ctx.unsupported("statistics per element (spatial=0) are not supported");
  // Before version 14 asking for the statistics was what made it a training step.
  attrs.training =
      ctx.version() >= 14 ? ctx.attr_bool("training_mode", false) : ctx.num_outputs() > 1;
  if (ctx.num_outputs() > 3)
    return ctx.unsupported("saved mean and variance as outputs are not supported");
  if (!attrs.training && ctx.num_outputs() > 1)
    return ctx.fail(Code::BadArity, "statistics are outputs only with training_mode=1");
  return ctx.finish(OpKind::BatchNorm, ctx.tensors(), attrs);
}

Status instance_norm(NodeContext& ctx) {
  InstanceNormAttrs attrs;
  attrs.epsilon = ctx.attr_float("epsilon", 1e-5f);
  ctx.ignore_attr("consumed_inputs");
  return ctx.finish(OpKind::InstanceNorm, ctx.tensors(), attrs);
}

template <OpKind kKind>
Status layer_norm(NodeContext& ctx) {
  LayerNormAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  attrs.epsilon = ctx.attr_float("epsilon", 1e-5f);
  ctx.ignore_attr("stash_type");  // kernels never compute below f32
  return ctx.finish(kKind, ctx.tensors(), attrs);
}

// Version 18 has one scale and bias per group; they are repeated for the group's channels.
Result<ec::Tensor*> per_channel(NodeContext& ctx, ec::Tensor* per_group, int64_t groups) {
  const auto& shape = ctx.in(0)->shape();
  if (!shape || shape->rank() < 2 || !(*shape)[1].is_static())
    return ctx.fail(Code::DynamicShape, "the number of channels has to be known");
  const int64_t channels = (*shape)[1].size();
  if (groups < 1 || channels % groups != 0)
    return ctx.fail(Code::ShapeMismatch, std::to_string(channels) +
                                             " channels do not divide into " +
                                             std::to_string(groups) + " groups");
  EC_TRY(ec::Tensor * x, ctx.reshape(per_group, std::vector<int64_t>{groups, 1}));
  EC_TRY(x, ctx.add(OpKind::Expand, {x, ctx.ints({groups, channels / groups})}));
  return ctx.reshape(x, std::vector<int64_t>{channels});
}

Status group_norm(NodeContext& ctx) {
  GroupNormAttrs attrs;
  attrs.epsilon = ctx.attr_float("epsilon", 1e-5f);
  attrs.groups = ctx.attr_int("num_groups");
  ctx.ignore_attr("stash_type");
  ec::Tensor* scale = ctx.in(1);
  ec::Tensor* bias = ctx.in(2);
  if (ctx.version() < 21) {
    EC_TRY(scale, per_channel(ctx, scale, attrs.groups));
    EC_TRY(bias, per_channel(ctx, bias, attrs.groups));
  }
  return ctx.finish(OpKind::GroupNorm, {ctx.in(0), scale, bias}, attrs);
}

Status lp_norm(NodeContext& ctx) {
  LpNormAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  attrs.p = ctx.attr_int("p", 2);
  return ctx.finish(OpKind::LpNorm, {ctx.in(0)}, attrs);
}

Status lrn(NodeContext& ctx) {
  LrnAttrs attrs;
  attrs.size = ctx.attr_int("size");
  attrs.alpha = ctx.attr_float("alpha", 1e-4f);
  attrs.beta = ctx.attr_float("beta", 0.75f);
  attrs.bias = ctx.attr_float("bias", 1.0f);
  return ctx.finish(OpKind::Lrn, {ctx.in(0)}, attrs);
}

// (x - mean) / (standard deviation + 1e-9) over the axes.
Status mean_variance_norm(NodeContext& ctx) {
  std::vector<int64_t> axes = ctx.attr_ints("axes");
  if (!ctx.has_attr("axes")) axes = {0, 2, 3};
  const ReduceAttrs keep;
  EC_TRY(ec::Tensor * mean, ctx.add(OpKind::ReduceMean, {ctx.in(0), ctx.ints(axes)}, keep));
  EC_TRY(ec::Tensor * centred, ctx.add(OpKind::Sub, {ctx.in(0), mean}));
  EC_TRY(ec::Tensor * square, ctx.add(OpKind::Mul, {centred, centred}));
  EC_TRY(ec::Tensor * variance, ctx.add(OpKind::ReduceMean, {square, ctx.ints(axes)}, keep));
  EC_TRY(ec::Tensor * deviation, ctx.add(OpKind::Sqrt, {variance}));
  EC_TRY(deviation, ctx.add(OpKind::Add, {deviation, ctx.scalar(ctx.dtype(), 1e-9)}));
  return ctx.finish(OpKind::Div, {centred, deviation});
}

constexpr Arity k1{1, 1}, k3{3, 3};

constexpr OpRow kRows[] = {
    {"Softmax", 1, 12, k1, k1, softmax_of_matrix<OpKind::Softmax>},
    {"Softmax", 13, kLatest, k1, k1, softmax<OpKind::Softmax>},
    {"LogSoftmax", 1, 12, k1, k1, softmax_of_matrix<OpKind::LogSoftmax>},
    {"LogSoftmax", 13, kLatest, k1, k1, softmax<OpKind::LogSoftmax>},
    {"Hardmax", 1, 12, k1, k1, softmax_of_matrix<OpKind::Hardmax>},
    {"Hardmax", 13, kLatest, k1, k1, softmax<OpKind::Hardmax>},
    {"BatchNormalization", 1, 13, {5, 5}, {1, 5}, batch_norm},
    {"BatchNormalization", 14, kLatest, {5, 5}, {1, 3}, batch_norm},
    {"InstanceNormalization", 1, kLatest, k3, k1, instance_norm},
    {"LayerNormalization", 17, kLatest, {2, 3}, {1, 3}, layer_norm<OpKind::LayerNorm>},
    {"RMSNormalization", 23, kLatest, {2, 2}, k1, layer_norm<OpKind::RmsNorm>},
    {"GroupNormalization", 18, kLatest, k3, k1, group_norm},
    {"LpNormalization", 1, kLatest, k1, k1, lp_norm},
    {"LRN", 1, kLatest, k1, k1, lrn},
    {"MeanVarianceNormalization", 9, kLatest, k1, k1, mean_variance_norm},
};

}  // namespace

const std::span<const OpRow> kNormalizationRows = kRows;

}  // namespace ec::onnx
