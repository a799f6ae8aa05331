// Activations that TFLite lacks, as formulas of those it has.
#include <cmath>

#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

bool is_float_op(const Operation* op) { return !has_quant(op) && is_float(op->output()->dtype()); }

Tensor* softplus(Replacement& p, Tensor* x) {
  // log(1 + e^x) without overflow.
  Tensor* tail = p.unary(OpKind::Exp, p.unary(OpKind::Neg, p.unary(OpKind::Abs, x)));
  return p.op(OpKind::Add, {p.unary(OpKind::Relu, x), p.unary(OpKind::Log, p.add(tail, 1))});
}

Result<bool> expand_softplus(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  return p.replace(softplus(p, op->input(0)));
}

Result<bool> expand_mish(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  return p.replace(p.mul(op->input(0), p.unary(OpKind::Tanh, softplus(p, op->input(0)))));
}

Result<bool> expand_silu(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const double alpha = double{op->attrs_as<SiluAttrs>().alpha};
  return p.replace(p.mul(x, p.unary(OpKind::Sigmoid, alpha == 1 ? x : p.mul(x, alpha))));
}

Result<bool> expand_softsign(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  return p.replace(p.div(op->input(0), p.add(p.unary(OpKind::Abs, op->input(0)), 1)));
}

// max(x, 0) + alpha elu(min(x, 0))
Tensor* scaled_elu(Replacement& p, Tensor* x, double alpha) {
  Tensor* tail = p.op(OpKind::Elu, {p.min(x, 0.0)}, AlphaAttrs{.alpha = 1});
  return p.op(OpKind::Add, {p.unary(OpKind::Relu, x), p.mul(tail, alpha)});
}

Result<bool> expand_elu(Rewriter& r, Operation* op) {
  const double alpha = double{op->attrs_as<AlphaAttrs>().alpha};
  if (!is_float_op(op) || alpha == 1) return false;
  Replacement p(r, op);
  return p.replace(scaled_elu(p, op->input(0), alpha));
}

Result<bool> expand_selu(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  const auto& attrs = op->attrs_as<SeluAttrs>();
  Replacement p(r, op);
  return p.replace(p.mul(scaled_elu(p, op->input(0), double{attrs.alpha}), double{attrs.gamma}));
}

// max(x, 0) + alpha elu(min(x, 0) / alpha)
Result<bool> expand_celu(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  const double alpha = double{op->attrs_as<AlphaAttrs>().alpha};
  if (!(alpha > 0)) return false;  // the exponential part would be that of positive numbers
  if (!std::isfinite(static_cast<float>(1 / alpha))) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* tail = p.op(OpKind::Elu, {p.mul(p.min(x, 0.0), 1 / alpha)}, AlphaAttrs{.alpha = 1});
  return p.replace(p.op(OpKind::Add, {p.unary(OpKind::Relu, x), p.mul(tail, alpha)}));
}

// relu6(6 alpha x + 6 beta) / 6: the form that converters write and delegates look for.
Result<bool> expand_hard_sigmoid(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  const auto& attrs = op->attrs_as<HardSigmoidAttrs>();
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const double alpha = 6 * double{attrs.alpha};
  if (!near(alpha, 1, 1e-5)) x = p.mul(x, alpha);
  x = p.add(x, 6 * double{attrs.beta});
  Tensor* clipped = p.op(OpKind::Clip, {x, p.number(x, 0), p.number(x, 6)});
  return p.replace(p.mul(clipped, 1.0 / 6));
}

Result<bool> expand_thresholded_relu(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* above = p.op(OpKind::Greater, {x, p.number(x, double{op->attrs_as<AlphaAttrs>().alpha})});
  return p.replace(p.op(OpKind::Where, {above, x, p.number(x, 0)}));
}

Result<bool> expand_shrink(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  const auto& attrs = op->attrs_as<ShrinkAttrs>();
  const double lambda = double{attrs.lambd}, bias = double{attrs.bias};
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* high = p.op(OpKind::Greater, {x, p.number(x, lambda)});
  Tensor* low = p.op(OpKind::Less, {x, p.number(x, -lambda)});
  if (lambda < 0) {
    // Both hold for numbers around zero: the lower branch counts.
    Tensor* above = p.op(OpKind::Where, {high, p.sub(x, bias), p.number(x, 0)});
    return p.replace(p.op(OpKind::Where, {low, p.add(x, bias), above}));
  }
  Tensor* below = p.op(OpKind::Where, {low, p.add(x, bias), p.number(x, 0)});
  return p.replace(p.op(OpKind::Where, {high, p.sub(x, bias), below}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Softplus, expand_softplus, "activations"},
    {OpKind::Mish, expand_mish, "activations"},
    {OpKind::Silu, expand_silu, "activations"},
    {OpKind::Softsign, expand_softsign, "activations"},
    {OpKind::Elu, expand_elu, "activations"},
    {OpKind::Selu, expand_selu, "activations"},
    {OpKind::Celu, expand_celu, "activations"},
    {OpKind::HardSigmoid, expand_hard_sigmoid, "activations"},
    {OpKind::ThresholdedRelu, expand_thresholded_relu, "activations"},
    {OpKind::Shrink, expand_shrink, "activations"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteActivations = kRules;

}  // namespace ec::passes
