// Operators of com.microsoft that ONNX Runtime's optimiser writes: fused and approximate forms.
// (names and operands: ONNX Runtime's ContribOperators.md)
#include <limits>

#include "frontend/onnx/table.h"
#include "frontend/onnx/window.h"

namespace ec::onnx {
namespace {

// gelu(x + bias), the bias optional.
template <GeluForm kForm>
Status gelu(NodeContext& ctx) {
  ec::Tensor* x = ctx.in(0);
  if (ctx.has(1)) {
    EC_TRY(x, ctx.add(OpKind::Add, {x, ctx.in(1)}));
  }
  GeluAttrs attrs;
  attrs.form = kForm;
  return ctx.finish(OpKind::Gelu, {x}, attrs);
}

Status quick_gelu(NodeContext& ctx) {
  SiluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.702f);
  return ctx.finish(OpKind::Silu, {ctx.in(0)}, attrs);
}

Result<ec::Tensor*> fused_matmul_operand(NodeContext& ctx, ec::Tensor* x, bool batch,
                                         bool& transpose) {
  if (!batch) return x;
  if (!x->shape() || x->shape()->rank() < 3)
    return ctx.fail(Code::ShapeMismatch, "transBatch needs three dimensions or more");
  // [m, batch..., k]: the rows come first and move before the last dimension.
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  std::vector<int64_t> perm;
  for (int64_t i = 1; i < rank - 1; ++i) perm.push_back(i);
  perm.push_back(0);
  perm.push_back(rank - 1);
  if (transpose) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  transpose = false;
  return ctx.transpose(x, std::move(perm));
}

Status fused_matmul(NodeContext& ctx) {
  MatMulAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  attrs.transpose_a = ctx.attr_bool("transA", false);
  attrs.transpose_b = ctx.attr_bool("transB", false);
  EC_TRY(ec::Tensor * a, fused_matmul_operand(ctx, ctx.in(0), ctx.attr_bool("transBatchA", false),
                                              attrs.transpose_a));
  EC_TRY(ec::Tensor * b, fused_matmul_operand(ctx, ctx.in(1), ctx.attr_bool("transBatchB", false),
                                              attrs.transpose_b));
  return ctx.finish(OpKind::MatMul, {a, b}, attrs);
}

struct FusedActivation {
  Activation kind = Activation::None;
  float alpha = 0.0f, beta = 0.0f;
};

// The activation attribute of FusedConv and FusedGemm.
Result<FusedActivation> fused_activation(NodeContext& ctx, const std::vector<float>& parameters) {
  constexpr std::string_view kNames[] = {"",          "Relu", "Tanh",        "Sigmoid",
                                         "LeakyRelu", "Clip", "HardSigmoid", "Gelu"};
  constexpr Activation kKinds[] = {Activation::None,        Activation::Relu,      Activation::Tanh,
                                   Activation::Sigmoid,     Activation::LeakyRelu, Activation::Clip,
                                   Activation::HardSigmoid, Activation::Gelu};
  FusedActivation fused;
  fused.kind = kKinds[ctx.attr_choice("activation", kNames, 0)];
  const auto parameter = [&](size_t i, float fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (fused.kind == Activation::LeakyRelu) fused.alpha = parameter(0, 0.01f);
  if (fused.kind == Activation::Clip) {
    fused.alpha = parameter(0, std::numeric_limits<float>::lowest());
    fused.beta = parameter(1, std::numeric_limits<float>::max());
  }
  if (fused.kind == Activation::HardSigmoid) {
    fused.alpha = parameter(0, 0.2f);
    fused.beta = parameter(1, 0.5f);
  }
  EC_CHECK_OK(ctx.attr_status());
  return fused;
}

Status fused_conv(NodeContext& ctx) {
  EC_TRY(const FusedActivation fused, fused_activation(ctx, ctx.attr_floats("activation_params")));
  ConvAttrs attrs = conv_attrs(ctx);
  attrs.activation = fused.kind;
  attrs.act_alpha = fused.alpha;
  attrs.act_beta = fused.beta;
  EC_CHECK_OK(check_kernel_shape(ctx, ctx.in(1)));
  return ctx.finish(OpKind::Conv, ctx.tensors(), attrs);
}

Status fused_gemm(NodeContext& ctx) {
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (ctx.has_attr(name)) parameters.push_back(ctx.attr_float(name, 0.0f));
  ctx.ignore_attr("activation_gamma");
  EC_TRY(const FusedActivation fused, fused_activation(ctx, parameters));
  GemmAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  attrs.beta = ctx.attr_float("beta", 1.0f);
  attrs.transpose_a = ctx.attr_bool("transA", false);
  attrs.transpose_b = ctx.attr_bool("transB", false);
  attrs.activation = fused.kind;
  attrs.act_alpha = fused.alpha;
  attrs.act_beta = fused.beta;
  return ctx.finish(OpKind::Gemm, ctx.tensors(), attrs);
}

// layer_norm(x + skip + bias); the sum is the fourth output.
Status skip_norm(NodeContext& ctx, OpKind kind, ec::Tensor* scale, ec::Tensor* shift,
                 ec::Tensor* bias) {
  LayerNormAttrs attrs;
  attrs.epsilon = ctx.attr_float("epsilon", kind == OpKind::LayerNorm ? 1e-12f : 1e-6f);
  EC_TRY(ec::Tensor * sum, ctx.add(OpKind::Add, {ctx.in(0), ctx.in(1)}));
  if (bias != nullptr) {
    EC_TRY(sum, ctx.add(OpKind::Add, {sum, bias}));
  }
  const size_t results = kind == OpKind::LayerNorm && (ctx.wants(1) || ctx.wants(2)) ? 3 : 1;
  EC_TRY(Operation * op, ctx.add_op(kind, {sum, scale, shift}, attrs, results));
  for (size_t i = 0; i < results; ++i) ctx.set(i, op->output(i));
  if (ctx.wants(3)) ctx.set(3, sum);
  return {};
}

Status skip_layer_norm(NodeContext& ctx) {
  return skip_norm(ctx, OpKind::LayerNorm, ctx.in(2), ctx.in(3), ctx.in(4));
}
Status skip_rms_norm(NodeContext& ctx) {
  return skip_norm(ctx, OpKind::RmsNorm, ctx.in(2), nullptr, ctx.in(3));
}

Status rms_norm(NodeContext& ctx) {
  LayerNormAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  attrs.epsilon = ctx.attr_float("epsilon", 1e-5f);
  ctx.ignore_attr("stash_type");
  return ctx.finish(OpKind::RmsNorm, ctx.tensors(), attrs);
}

Status trilu(NodeContext& ctx) {
  TriluAttrs attrs;
  attrs.upper = ctx.attr_bool("upper", true);
  return ctx.finish(OpKind::Trilu, ctx.tensors(), attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {"Gelu", 1, kLatest, k1, k1, gelu<GeluForm::Exact>},
    {"BiasGelu", 1, kLatest, k2, k1, gelu<GeluForm::Exact>},
    {"FastGelu", 1, kLatest, {1, 2}, k1, gelu<GeluForm::Tanh>},
    {"QuickGelu", 1, kLatest, k1, k1, quick_gelu},
    {"FusedMatMul", 1, kLatest, k2, k1, fused_matmul},
    {"FusedConv", 1, kLatest, {2, 4}, k1, fused_conv},
    {"FusedGemm", 1, kLatest, {2, 3}, k1, fused_gemm},
    {"SkipLayerNormalization", 1, kLatest, {3, 5}, {1, 4}, skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, kLatest, {3, 4}, {1, 4}, skip_rms_norm},
    {"SimplifiedLayerNormalization", 1, kLatest, k2, k1, rms_norm},
    {"Trilu", 1, kLatest, {1, 2}, k1, trilu},
};

}  // namespace

const std::span<const OpRow> kMicrosoftRows = kRows;

}  // namespace ec::onnx
