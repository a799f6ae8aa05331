#include "backend/tflite/formulas.h"

#include "backend/tflite/passes/fused_activation.h"
#include "backend/tflite/passes/rules.h"

namespace ec::passes {
namespace {

template <class A>
Result<bool> split(Rewriter& r, Operation* op) {
  const bool residual = op->kind() == OpKind::Conv && op->input(3) != nullptr;
  if (has_quant(op)) return false;
  if (!residual && op->attrs_as<A>().activation == Activation::None) return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  const FusedActivation taken = take_activation<A>(plain);
  std::vector<Tensor*> inputs = op->inputs();
  if (residual) inputs.resize(3);
  Tensor* y = p.op(op->kind(), std::move(inputs), std::move(plain));
  if (residual) y = p.add(y, op->input(3));
  return p.replace(activated(p, y, taken));
}

}  // namespace

Result<bool> split_fused(Rewriter& rewriter, Operation* op) {
  switch (op->kind()) {
    case OpKind::Conv:
      return split<ConvAttrs>(rewriter, op);
    case OpKind::ConvTranspose:
      return split<ConvTransposeAttrs>(rewriter, op);
    case OpKind::MatMul:
      return split<MatMulAttrs>(rewriter, op);
    case OpKind::Gemm:
      return split<GemmAttrs>(rewriter, op);
    default:
      return false;
  }
}

Result<bool> apply_formula(Rewriter& rewriter, Operation* op) {
  for (const auto family :
       {kTfliteActivations, kTfliteArithmetic, kTfliteNorms, kTfliteResize, kTfliteReductions,
        kTfliteMovement, kTfliteRecurrent, kTfliteEinsum, kTfliteGridSample, kTfliteAttention,
        kTfliteScatter, kFourierProducts, kTfliteLoops})
    for (const RewriteRule& rule : family) {
      if (rule.kind != op->kind()) continue;
      EC_TRY(const bool applied, rule.apply(rewriter, op));
      if (applied) return true;
    }
  return false;
}

}  // namespace ec::passes
