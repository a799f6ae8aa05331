// Normalisations that are operators of their own.
#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/window.h"

namespace ec::tf {
namespace {

bool is_all(const ec::Tensor* tensor, double wanted) {
  const Operation* op = tensor->producer();
  if (op != nullptr && op->kind() == OpKind::Fill && op->input(1) != nullptr)
    return known_scalar(op->input(1)) == wanted;
  if (!tensor->is_constant() || tensor->dtype() != DType::F32 || tensor->data().empty())
    return false;
  for (const float value : tensor->values<float>())
    if (static_cast<double>(value) != wanted) return false;
  return true;
}

// Statistics of the batch itself. Keras 2 computes layer normalisation so: [1, N, C, 1] with the
// dimension of size N as channels.
Status of_batch(OpContext& ctx, Layout layout, float epsilon) {
  EC_TRY(const size_t rank, ctx.rank());
  const size_t channel = layout == Layout::ChannelsLast ? rank - 1 : 1;
  std::vector<int64_t> axes, beside;
  for (size_t d = 0; d < rank; ++d)
    if (d != channel) axes.push_back(static_cast<int64_t>(d));
  for (size_t d = channel + 1; d < rank; ++d) beside.push_back(static_cast<int64_t>(d - channel));
  const auto along_channels = [&](ec::Tensor* x) -> Result<ec::Tensor*> {
    return beside.empty() ? Result<ec::Tensor*>(x) : ctx.unsqueeze(x, beside);
  };
  ec::Tensor* x = ctx.in(0);
  const Shape& shape = *x->shape();
  ec::Tensor* y = nullptr;
  if (layout == Layout::ChannelsFirst && shape[0] == Dim(1)) {
    LayerNormAttrs attrs;
    attrs.axis = 2;
    attrs.epsilon = epsilon;
    Shape inner;
    for (size_t d = 2; d < rank; ++d) inner.push_back(shape[d]);
    const auto count = inner.num_elements();
    if (count && *count > 0 && *count < (1 << 20) && inner.is_static() &&
        ctx.take_room(static_cast<size_t>(*count) * sizeof(float)).ok()) {
      const std::vector<float> ones(static_cast<size_t>(*count), 1.0f);
      ec::Tensor* scale = ctx.graph().add_constant<float>("", inner, std::span<const float>(ones));
      EC_TRY(y, ctx.add(OpKind::LayerNorm, {x, scale}, attrs));
    }
  }
  if (y == nullptr) {
    EC_TRY(ec::Tensor * mean, ctx.add(OpKind::ReduceMean, {x, ctx.ints(axes)}, ReduceAttrs{}));
    EC_TRY(ec::Tensor * centred, ctx.add(OpKind::Sub, {x, mean}));
    EC_TRY(ec::Tensor * squares, ctx.add(OpKind::Mul, {centred, centred}));
    EC_TRY(ec::Tensor * variance,
           ctx.add(OpKind::ReduceMean, {squares, ctx.ints(axes)}, ReduceAttrs{}));
    EC_TRY(variance, ctx.add(OpKind::Add, {variance, ctx.scalar(x->dtype(), double{epsilon})}));
    EC_TRY(ec::Tensor * factor, ctx.add(OpKind::Rsqrt, {variance}));
    EC_TRY(y, ctx.add(OpKind::Mul, {centred, factor}));
  }
  if (!is_all(ctx.in(1), 1.0)) {
    EC_TRY(ec::Tensor * scale, along_channels(ctx.in(1)));
    EC_TRY(y, ctx.add(OpKind::Mul, {y, scale}));
  }
  if (!is_all(ctx.in(2), 0.0)) {
    EC_TRY(ec::Tensor * offset, along_channels(ctx.in(2)));
    EC_TRY(y, ctx.add(OpKind::Add, {y, offset}));
  }
  return ctx.set(0, y);
}

// fused_batch_norm(x, scale, offset, mean, variance). Training is the default of the operator.
Status fused_batch_norm(OpContext& ctx) {
  const float epsilon = ctx.attr_float("epsilon", 1e-4f);
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != 4 && rank != 5)
    return ctx.fail(Code::ShapeMismatch, "the input has to have 4 or 5 dimensions");
  EC_TRY(const Layout layout, layout_of(ctx, rank == 5 ? 3 : 2));
  if (ctx.attr_bool("is_training", true)) return of_batch(ctx, layout, epsilon);
  BatchNormAttrs attrs;
  attrs.epsilon = epsilon;
  attrs.layout = layout;
  return ctx.finish(OpKind::BatchNorm, {ctx.in(0), ctx.in(1), ctx.in(2), ctx.in(3), ctx.in(4)},
                    attrs);
}

// The sum runs over 2 * radius + 1 channels; the IR's alpha is divided by that number.
Status lrn(OpContext& ctx) {
  const int64_t radius = ctx.attr_int("depth_radius", 5);
  if (radius < 0 || radius > (1 << 20))
    return ctx.fail(Code::BadAttribute, "the radius is " + std::to_string(radius));
  LrnAttrs attrs;
  attrs.size = 2 * radius + 1;
  attrs.alpha = ctx.attr_float("alpha", 1.0f) * static_cast<float>(attrs.size);
  attrs.beta = ctx.attr_float("beta", 0.5f);
  attrs.bias = ctx.attr_float("bias", 1.0f);
  attrs.layout = Layout::ChannelsLast;
  return ctx.finish(OpKind::Lrn, {ctx.in(0)}, attrs);
}

Status l2_loss(OpContext& ctx) {
  EC_TRY(ec::Tensor * squares, ctx.add(OpKind::Mul, {ctx.in(0), ctx.in(0)}));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  EC_TRY(ec::Tensor * sum, ctx.add(OpKind::ReduceSum, {squares}, attrs));
  return ctx.finish(OpKind::Mul, {sum, ctx.scalar(ctx.dtype(), 0.5)});
}

#define EC_STATISTICS "y,batch_mean,batch_variance,reserve_space_1,reserve_space_2"

constexpr OpRow kRows[] = {
    {"FusedBatchNorm", {5, 5}, fused_batch_norm, Takes::Numbers, EC_STATISTICS},
    {"FusedBatchNormV2", {5, 5}, fused_batch_norm, Takes::Numbers, EC_STATISTICS},
    {"FusedBatchNormV3",
     {5, 5},
     fused_batch_norm,
     Takes::Numbers,
     EC_STATISTICS ",reserve_space_3"},
    {"LRN", {1, 1}, lrn},
    {"L2Loss", {1, 1}, l2_loss},
};

}  // namespace

const std::span<const OpRow> kNormalizationRows = kRows;

}  // namespace ec::tf
