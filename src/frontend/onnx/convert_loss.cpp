// Losses, built from gathers and reductions.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

constexpr std::string_view kReductions[] = {"none", "mean", "sum"};
enum : size_t { kNone, kMean, kSum };

Result<ec::Tensor*> reduce_all(NodeContext& ctx, OpKind kind, ec::Tensor* x) {
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return ctx.add(kind, {x}, attrs);
}

// -w[target] * log_prob[n, target, ...], with the class in dimension 1. Elements whose target is
// ignore_index weigh nothing.
Result<ec::Tensor*> negative_log_likelihood(NodeContext& ctx, ec::Tensor* log_prob,
                                            ec::Tensor* target, ec::Tensor* class_weights) {
  const DType dtype = log_prob->dtype();
  const size_t reduction = ctx.attr_choice("reduction", kReductions, kMean);
  EC_TRY(target, ctx.cast(target, DType::I64));
  ec::Tensor* ignored = nullptr;
  if (ctx.has_attr("ignore_index")) {
    const auto index = static_cast<double>(ctx.attr_int("ignore_index"));
    EC_TRY(ignored, ctx.add(OpKind::Equal, {target, ctx.scalar(DType::I64, index)}));
    EC_TRY(target, ctx.add(OpKind::Where, {ignored, ctx.scalar(DType::I64, 0), target}));
  }
  GatherAttrs along_class;
  along_class.axis = 1;
  EC_TRY(ec::Tensor * index, ctx.unsqueeze(target, std::vector<int64_t>{1}));
  EC_TRY(ec::Tensor * loss, ctx.add(OpKind::GatherElements, {log_prob, index}, along_class));
  EC_TRY(loss, ctx.add(OpKind::Squeeze, {loss, ctx.ints({1})}));
  EC_TRY(loss, ctx.add(OpKind::Neg, {loss}));
  ec::Tensor* weights = nullptr;
  if (class_weights != nullptr) {
    EC_TRY(weights, ctx.add(OpKind::Gather, {class_weights, target}, GatherAttrs{}));
  }
  if (ignored != nullptr) {
    EC_TRY(weights,
           ctx.add(OpKind::Where, {ignored, ctx.scalar(dtype, 0.0),
                                   weights != nullptr ? weights : ctx.scalar(dtype, 1.0)}));
  }
  if (weights != nullptr) {
    EC_TRY(loss, ctx.add(OpKind::Mul, {loss, weights}));
  }
  if (reduction == kNone) return loss;
  if (reduction == kSum) return reduce_all(ctx, OpKind::ReduceSum, loss);
  if (weights == nullptr) return reduce_all(ctx, OpKind::ReduceMean, loss);
  EC_TRY(ec::Tensor * total, reduce_all(ctx, OpKind::ReduceSum, loss));
  EC_TRY(ec::Tensor * weight, reduce_all(ctx, OpKind::ReduceSum, weights));
  return ctx.add(OpKind::Div, {total, weight});
}

Status nll_loss(NodeContext& ctx) {
  EC_TRY(ec::Tensor * loss, negative_log_likelihood(ctx, ctx.in(0), ctx.in(1), ctx.in(2)));
  ctx.set(0, loss);
  return {};
}

Status softmax_cross_entropy(NodeContext& ctx) {
  AxisAttrs classes;
  classes.axis = 1;
  EC_TRY(ec::Tensor * log_prob, ctx.add(OpKind::LogSoftmax, {ctx.in(0)}, classes));
  EC_TRY(ec::Tensor * loss, negative_log_likelihood(ctx, log_prob, ctx.in(1), ctx.in(2)));
  ctx.set(0, loss);
  if (ctx.wants(1)) ctx.set(1, log_prob);
  return {};
}

constexpr OpRow kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, kLatest, {2, 3}, {1, 1}, nll_loss},
    {"SoftmaxCrossEntropyLoss", 12, kLatest, {2, 3}, {1, 2}, softmax_cross_entropy},
};

}  // namespace

const std::span<const OpRow> kLossRows = kRows;

}  // namespace ec::onnx
