// Activations and residuals that no operator of TFLite takes along: operations of their own.
#include "backend/tflite/passes/fused_activation.h"

#include "backend/tflite/passes/rules.h"
#include "ops/clamp.h"

namespace ec::passes {

Tensor* activated(Replacement& p, Tensor* x, const FusedActivation& a) {
  switch (a.kind) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return p.unary(OpKind::Relu, x);
    case Activation::Relu6:
      return p.op(OpKind::Clip, {x, p.number(x, 0), p.number(x, 6)});
    case Activation::Clip:
      return p.op(OpKind::Clip, {x, p.number(x, double{a.alpha}), p.number(x, double{a.beta})});
    case Activation::LeakyRelu:
      return p.op(OpKind::LeakyRelu, {x}, LeakyReluAttrs{.alpha = a.alpha});
    case Activation::Sigmoid:
      return p.unary(OpKind::Sigmoid, x);
    case Activation::Tanh:
      return p.unary(OpKind::Tanh, x);
    case Activation::Silu:
      return p.op(OpKind::Silu, {x}, SiluAttrs{});
    case Activation::HardSwish:
      return p.unary(OpKind::HardSwish, x);
    case Activation::HardSigmoid:
      return p.op(OpKind::HardSigmoid, {x}, HardSigmoidAttrs{.alpha = a.alpha, .beta = a.beta});
    case Activation::Gelu:
      return p.op(OpKind::Gelu, {x}, GeluAttrs{});
    case Activation::GeluTanh:
      return p.op(OpKind::Gelu, {x}, GeluAttrs{.form = GeluForm::Tanh});
  }
  return x;
}

namespace {

template <class A>
Result<bool> split_activation(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<A>();
  const bool residual = op->kind() == OpKind::Conv && op->input(3) != nullptr;
  if (!residual && fused_clamp(attrs.activation, attrs.act_alpha, attrs.act_beta)) return false;
  return split_fused(r, op);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, split_activation<ConvAttrs>, "activations split off"},
    {OpKind::ConvTranspose, split_activation<ConvTransposeAttrs>, "activations split off"},
    {OpKind::MatMul, split_activation<MatMulAttrs>, "activations split off"},
    {OpKind::Gemm, split_activation<GemmAttrs>, "activations split off"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteFusedActivations = kRules;

}  // namespace ec::passes
