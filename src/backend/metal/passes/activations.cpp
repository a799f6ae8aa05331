// Activations that programs lack, or have in fewer forms.
#include "backend/metal/passes/rules.h"
#include "passes/replacement.h"
#include "writer/coreml/forms.h"

namespace ec::passes {
namespace {

bool is_float_op(const Operation* op) { return !has_quant(op) && is_float(op->output()->dtype()); }

Result<bool> expand_hard_swish(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  return p.replace(
      p.mul(x, p.op(OpKind::HardSigmoid, {x}, HardSigmoidAttrs{.alpha = 1.0f / 6, .beta = 0.5f})));
}

Result<bool> expand_silu(Rewriter& r, Operation* op) {
  const double alpha = double{op->attrs_as<SiluAttrs>().alpha};
  if (!is_float_op(op) || alpha == 1) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  return p.replace(p.mul(x, p.unary(OpKind::Sigmoid, p.mul(x, alpha))));
}

// max(x, 0) + slope min(x, 0)
Result<bool> expand_prelu(Rewriter& r, Operation* op) {
  if (!is_float_op(op) || has_coreml_prelu(*op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  return p.replace(
      p.op(OpKind::Add, {p.unary(OpKind::Relu, x), p.mul(p.min(x, 0.0), op->input(1))}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::HardSwish, expand_hard_swish, "activations"},
    {OpKind::Silu, expand_silu, "activations"},
    {OpKind::Prelu, expand_prelu, "activations"},
};

}  // namespace

const std::span<const RewriteRule> kMilActivations = kRules;

}  // namespace ec::passes
