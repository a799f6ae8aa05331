// Activation functions.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

template <OpKind kKind>
Status plain(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  return ctx.finish(kKind, {ctx.in(0)});
}

template <OpKind kKind>
Status with_alpha(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  AlphaAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

Status leaky_relu(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  LeakyReluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 0.01f);
  return ctx.finish(OpKind::LeakyRelu, {ctx.in(0)}, attrs);
}

Status selu(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  SeluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", ctx.version() < 6 ? 1.6732f : attrs.alpha);
  attrs.gamma = ctx.attr_float("gamma", ctx.version() < 6 ? 1.0507f : attrs.gamma);
  return ctx.finish(OpKind::Selu, {ctx.in(0)}, attrs);
}

Status hard_sigmoid(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  HardSigmoidAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 0.2f);
  attrs.beta = ctx.attr_float("beta", 0.5f);
  return ctx.finish(OpKind::HardSigmoid, {ctx.in(0)}, attrs);
}

Status shrink(NodeContext& ctx) {
  ShrinkAttrs attrs;
  attrs.bias = ctx.attr_float("bias", 0.0f);
  attrs.lambd = ctx.attr_float("lambd", 0.5f);
  return ctx.finish(OpKind::Shrink, {ctx.in(0)}, attrs);
}

Status gelu(NodeContext& ctx) {
  constexpr std::string_view kForms[] = {"none", "tanh"};
  GeluAttrs attrs;
  attrs.form = ctx.attr_choice("approximate", kForms, 0) == 0 ? GeluForm::Exact : GeluForm::Tanh;
  return ctx.finish(OpKind::Gelu, {ctx.in(0)}, attrs);
}

Status swish(NodeContext& ctx) {
  SiluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  return ctx.finish(OpKind::Silu, {ctx.in(0)}, attrs);
}

// swish(a) * b
Status swiglu(NodeContext& ctx) {
  SiluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  EC_TRY(ec::Tensor * gate, ctx.add(OpKind::Silu, {ctx.in(0)}, attrs));
  return ctx.finish(OpKind::Mul, {gate, ctx.in(1)});
}

// Before opset 7 a slope vector is per channel, whatever the rank.
Status legacy_prelu(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  ec::Tensor* slope = ctx.in(1);
  EC_TRY(const size_t rank, ctx.rank(0));
  EC_TRY(const size_t slope_rank, ctx.rank(1));
  if (slope_rank == 1 && rank > 2) {
    std::vector<int64_t> axes;
    for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i) - 1);
    const auto elements = slope->type().num_elements();
    if (!elements || *elements != 1) {
      EC_TRY(slope, ctx.unsqueeze(slope, axes));
    }
  }
  return ctx.finish(OpKind::Prelu, {ctx.in(0), slope});
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {"Relu", 1, kLatest, k1, k1, plain<OpKind::Relu>},
    {"Sigmoid", 1, kLatest, k1, k1, plain<OpKind::Sigmoid>},
    {"Tanh", 1, kLatest, k1, k1, plain<OpKind::Tanh>},
    {"Softplus", 1, kLatest, k1, k1, plain<OpKind::Softplus>},
    {"Softsign", 1, kLatest, k1, k1, plain<OpKind::Softsign>},
    {"Mish", 18, kLatest, k1, k1, plain<OpKind::Mish>},
    {"HardSwish", 14, kLatest, k1, k1, plain<OpKind::HardSwish>},
    {"Elu", 1, kLatest, k1, k1, with_alpha<OpKind::Elu>},
    {"Celu", 12, kLatest, k1, k1, with_alpha<OpKind::Celu>},
    {"ThresholdedRelu", 1, kLatest, k1, k1, with_alpha<OpKind::ThresholdedRelu>},
    {"LeakyRelu", 1, kLatest, k1, k1, leaky_relu},
    {"Selu", 1, kLatest, k1, k1, selu},
    {"HardSigmoid", 1, kLatest, k1, k1, hard_sigmoid},
    {"Shrink", 9, kLatest, k1, k1, shrink},
    {"Gelu", 20, kLatest, k1, k1, gelu},
    {"Swish", 24, kLatest, k1, k1, swish},
    {"SwiGLU", 28, kLatest, k2, k1, swiglu},
    {"PRelu", 1, 6, k2, k1, legacy_prelu},
    {"PRelu", 7, kLatest, k2, k1, direct<OpKind::Prelu>},
};

}  // namespace

const std::span<const OpRow> kActivationRows = kRows;

}  // namespace ec::onnx
