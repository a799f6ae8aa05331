// fuse-conv-bn: batch normalisation next to a weighted sum becomes part of its weights and bias.
//
//   batch_norm(conv(%x, %w)) -> conv(%x, %w', %b')
//   batch_norm(flatten(matmul(%x, %w))) -> flatten(matmul(%x, %w', %b'))
//   conv(batch_norm(%x), %w) -> conv(%x, %w', %b')   where nothing is padded
#include "passes/registry.h"
#include "passes/shapes.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

Result<bool> after_weighted_sum(Rewriter& rewriter, Operation* op) {
  Operation* sum = op->input(0)->producer();
  if (!is_weighted_sum(sum) || !has_single_use(op->input(0))) return false;
  const auto affine = batch_norm_affine(op);
  if (!affine || batch_norm_axis(op) != output_channel_axis(sum)) return false;
  if (output_channels(sum) != static_cast<int64_t>(affine->scale.size())) return false;
  if (!takes_output_affine(sum, *affine)) return false;
  EC_TRY(Tensor * result, add_with_affine(rewriter, sum, *affine, {sum, op}));
  rewriter.replace(op, result);
  return true;
}

Result<bool> before_weighted_sum(Rewriter& rewriter, Operation* op) {
  Operation* norm = produced_by(op->input(0), OpKind::BatchNorm);
  if (norm == nullptr || !has_single_use(op->input(0))) return false;
  const auto affine = batch_norm_affine(norm);
  if (!affine || batch_norm_axis(norm) != input_channel_axis(op)) return false;
  if (input_channels(op) != static_cast<int64_t>(affine->scale.size())) return false;
  if (!takes_input_affine(op, *affine)) return false;
  EC_TRY(Tensor * result, add_with_input_affine(rewriter, op, norm->input(0), *affine, {op, norm}));
  rewriter.replace(op, result);
  return true;
}

// A linear layer over several dimensions, which normalisation sees as one.
Result<bool> after_flattened(Rewriter& rewriter, Operation* op) {
  Tensor* flat = op->input(0);
  const Tensor* source = source_keeping_last(flat, 1);
  const Operation* sum = source != nullptr ? source->producer() : nullptr;
  if (!is_weighted_sum(sum) || !has_single_use(flat) || !has_single_use(source)) return false;
  const auto affine = batch_norm_affine(op);
  const auto last = [](const Tensor* tensor) { return tensor->shape()->rank() - 1; };
  if (!affine || batch_norm_axis(op) != last(flat) || output_channel_axis(sum) != last(source))
    return false;
  if (output_channels(sum) != static_cast<int64_t>(affine->scale.size())) return false;
  if (!takes_output_affine(sum, *affine)) return false;
  EC_TRY(Tensor * normal, add_with_affine(rewriter, sum, *affine, {sum, op}));
  EC_TRY(Tensor * result, add_reshape(rewriter, normal, *flat->shape(), {flat->producer()}));
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::BatchNorm, after_weighted_sum, "after a weighted sum"},
    {OpKind::BatchNorm, after_flattened, "after a weighted sum"},
    {OpKind::Conv, before_weighted_sum, "before a weighted sum"},
    {OpKind::MatMul, before_weighted_sum, "before a weighted sum"},
    {OpKind::Gemm, before_weighted_sum, "before a weighted sum"},
};

}  // namespace

const PassInfo kFuseConvBnPass{
    .name = "fuse-conv-bn",
    .summary = "Merges batch normalisation into the weights of conv, conv_transpose, matmul, gemm.",
    .details =
        "Needs constant weights and statistics, and that nothing else reads the value in between. "
        "Before a convolution it is exact only without padding (or without a shift): padding is "
        "zero after normalisation, not before.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kFuseConvBnPass.name, kRules);
    }};

}  // namespace ec::passes
