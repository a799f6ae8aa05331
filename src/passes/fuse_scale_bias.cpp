// fuse-scale-bias: constants per channel that are added or multiplied next to a weighted sum become
// part of its weights and bias.
//
//   add(conv(%x, %w), %b) -> conv(%x, %w, %b)       mul(matmul(%x, %w), %s) -> matmul(%x, %w')
//   mul(matmul(%q, %k), 0.125) -> matmul(%q, %k) {alpha=0.125}
#include <cmath>

#include "passes/registry.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

// The operation as an affine function of `x`, one of its operands; the other is a constant per
// channel.
std::optional<ChannelAffine> affine_of(const Operation* op, const Tensor* x, size_t axis,
                                       int64_t channels) {
  const bool first = op->input(0) == x;
  const Tensor* constant = first ? op->input(1) : op->input(0);
  if (op->input(0) == op->input(1)) return std::nullopt;
  const auto rank = rank_of(x);
  if (!rank) return std::nullopt;
  auto values = channel_values(constant, *rank, axis, channels);
  if (!values) return std::nullopt;
  const auto n = values->size();
  switch (op->kind()) {
    case OpKind::Add:
      return ChannelAffine{{}, std::move(*values)};
    case OpKind::Sub:
      if (!first) return ChannelAffine{std::vector<double>(n, -1.0), std::move(*values)};
      for (double& v : *values) v = -v;
      return ChannelAffine{{}, std::move(*values)};
    case OpKind::Mul:
      return ChannelAffine{std::move(*values), {}};
    case OpKind::Div:
      if (!first) return std::nullopt;
      for (double& v : *values) {
        v = 1.0 / v;
        if (!std::isfinite(v)) return std::nullopt;
      }
      return ChannelAffine{std::move(*values), {}};
    case OpKind::Neg:
    default:
      return std::nullopt;
  }
}

Result<bool> after_weighted_sum(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  for (size_t side = 0; side < 2; ++side) {
    Operation* sum = op->input(side)->producer();
    if (!is_weighted_sum(sum) || !is_constant(op->input(1 - side))) continue;
    if (!has_single_use(op->input(side)) || !same_shape(op->input(side), op->output())) continue;
    const auto axis = output_channel_axis(sum);
    const auto channels = output_channels(sum);
    if (!axis || !channels) continue;
    const auto affine = affine_of(op, op->input(side), *axis, *channels);
    if (!affine || !takes_output_affine(sum, *affine)) continue;
    EC_TRY(Tensor * result, add_with_affine(rewriter, sum, *affine, {sum, op}));
    rewriter.replace(op, result);
    return true;
  }
  return false;
}

// A bias that is no constant: matmul(a, b) + vector.
Result<bool> computed_bias(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  for (size_t side = 0; side < 2; ++side) {
    Operation* sum = produced_by(op->input(side), OpKind::MatMul);
    Tensor* bias = op->input(1 - side);
    if (sum == nullptr || sum->input(2) != nullptr || !is_open(sum) || is_constant(bias)) continue;
    if (!has_single_use(op->input(side)) || rank_of(bias) != 1) continue;
    const auto channels = output_channels(sum);
    if (!channels || (*bias->shape())[0] != Dim(*channels)) continue;
    EC_TRY(Tensor * result, rewriter.add(OpKind::MatMul, {sum->input(0), sum->input(1), bias},
                                         sum->attrs(), {sum, op}));
    rewriter.replace(op, result);
    return true;
  }
  return false;
}

// mul(x, s) before a weighted sum: zero padding stays zero.
Result<bool> before_weighted_sum(Rewriter& rewriter, Operation* op) {
  Operation* affine_op = op->input(0)->producer();
  if (affine_op == nullptr || has_quant(affine_op) || !has_single_use(op->input(0))) return false;
  const WithConstant match = with_constant(affine_op);
  if (!match || !same_shape(match.x, affine_op->output())) return false;
  const auto axis = input_channel_axis(op);
  const auto channels = input_channels(op);
  if (!axis || !channels) return false;
  const auto affine = affine_of(affine_op, match.x, *axis, *channels);
  if (!affine || !takes_input_affine(op, *affine)) return false;
  EC_TRY(Tensor * result, add_with_input_affine(rewriter, op, match.x, *affine, {op, affine_op}));
  rewriter.replace(op, result);
  return true;
}

// add(mul(x, s), b) with scalars before a padded convolution, which cannot take the shift: written
// as mul(add(x, b / s), s), it takes the factor at least.
Result<bool> factor_before_shift(Rewriter& rewriter, Operation* op) {
  const Operation* add = produced_by(op->input(0), OpKind::Add);
  if (add == nullptr || !is_plain(add) || !has_single_use(op->input(0))) return false;
  const WithScalar shift = with_scalar(add);
  const Operation* mul = shift ? produced_by(shift.x, OpKind::Mul) : nullptr;
  if (mul == nullptr || !is_plain(mul) || !has_single_use(shift.x)) return false;
  const WithScalar factor = with_scalar(mul);
  const auto channels = input_channels(op);
  if (!factor || !channels || !std::isfinite(shift.value / factor.value)) return false;
  const ChannelAffine affine{std::vector<double>(static_cast<size_t>(*channels), factor.value), {}};
  if (!takes_input_affine(op, affine)) return false;
  EC_TRY(Tensor * shifted,
         rewriter.add(OpKind::Add,
                      {factor.x, rewriter.scalar(factor.x->dtype(), shift.value / factor.value)},
                      NoAttrs{}, {add}));
  EC_TRY(Tensor * result, add_with_input_affine(rewriter, op, shifted, affine, {op, mul}));
  rewriter.replace(op, result);
  return true;
}

// The factor of an operation that multiplies by a scalar.
struct Factor {
  Tensor* x = nullptr;
  double value = 1;
};
std::optional<Factor> factor_of(const Operation* op) {
  if (op == nullptr || has_quant(op) || !is_float(op->output()->dtype())) return std::nullopt;
  if (op->kind() != OpKind::Mul && op->kind() != OpKind::Div) return std::nullopt;
  const WithScalar match = with_scalar(op);
  if (!match) return std::nullopt;
  const double value = op->kind() == OpKind::Mul ? match.value : 1 / match.value;
  if (!std::isnormal(value)) return std::nullopt;
  return Factor{match.x, value};
}

// The product of two computed matrices with a factor before or after it.
Result<bool> factor_after_product(Rewriter& rewriter, Operation* op) {
  const auto factor = factor_of(op);
  if (!factor) return false;
  Operation* product = produced_by(factor->x, OpKind::MatMul);
  if (product == nullptr || !is_open(product) || product->input(2) != nullptr ||
      !has_single_use(factor->x) || has_quant(product))
    return false;
  auto attrs = product->attrs_as<MatMulAttrs>();
  attrs.alpha *= static_cast<float>(factor->value);
  EC_TRY(Tensor * result, rewriter.add(OpKind::MatMul, product->inputs(), attrs, {product, op}));
  rewriter.replace(op, result);
  return true;
}

Result<bool> factor_before_product(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Operation* scaling = op->input(side)->producer();
    const auto factor = factor_of(scaling);
    if (!factor || !has_single_use(op->input(side))) continue;
    auto attrs = op->attrs_as<MatMulAttrs>();
    attrs.alpha *= static_cast<float>(factor->value);
    std::vector<Tensor*> inputs = op->inputs();
    inputs[side] = factor->x;
    EC_TRY(Tensor * result, rewriter.add(OpKind::MatMul, std::move(inputs), attrs, {op, scaling}));
    rewriter.replace(op, result);
    return true;
  }
  return false;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Add, after_weighted_sum, "after a weighted sum"},
    {OpKind::Sub, after_weighted_sum, "after a weighted sum"},
    {OpKind::Mul, after_weighted_sum, "after a weighted sum"},
    {OpKind::Div, after_weighted_sum, "after a weighted sum"},
    {OpKind::Add, computed_bias, "computed bias"},
    {OpKind::Mul, factor_after_product, "factor of a product"},
    {OpKind::Div, factor_after_product, "factor of a product"},
    {OpKind::Conv, before_weighted_sum, "before a weighted sum"},
    {OpKind::Conv, factor_before_shift, "factor before a shift"},
    {OpKind::MatMul, before_weighted_sum, "before a weighted sum"},
    {OpKind::MatMul, factor_before_product, "factor of a product"},
    {OpKind::Gemm, before_weighted_sum, "before a weighted sum"},
};

}  // namespace

const PassInfo kFuseScaleBiasPass{
    .name = "fuse-scale-bias",
    .summary = "Merges constants per channel and factors into weighted sums next to them.",
    .details =
        "add, sub, mul and div with one constant number per channel become weights and bias of "
        "conv, conv_transpose, matmul and gemm. A number that multiplies a product of two computed "
        "matrices becomes its alpha. A shift before a convolution is merged only where nothing is "
        "padded; elsewhere a number that multiplies in front of it is.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kFuseScaleBiasPass.name, kRules);
    }};

}  // namespace ec::passes
