// fuse-activations: what follows a weighted sum element by element is computed before its result
// is stored.
//
//   relu(conv(%x, %w, %b))          -> conv(%x, %w, %b) {activation=relu}
//   relu(add(conv(%x, %w, %b), %r)) -> conv(%x, %w, %b, %r) {activation=relu}
#include <limits>

#include "passes/registry.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

struct ActivationAttrs {
  Activation kind = Activation::None;
  float alpha = 0, beta = 0;
};

std::optional<ActivationAttrs> clip_activation(const Operation* op) {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  if (op->input(1) != nullptr) {
    const auto value = scalar_value(op->input(1));
    if (!value) return std::nullopt;
    low = static_cast<float>(*value);
  }
  if (op->input(2) != nullptr) {
    const auto value = scalar_value(op->input(2));
    if (!value) return std::nullopt;
    high = static_cast<float>(*value);
  }
  if (!(low <= high)) return std::nullopt;
  if (low == 0 && high == 6) return ActivationAttrs{Activation::Relu6};
  return ActivationAttrs{Activation::Clip, low, high};
}

std::optional<ActivationAttrs> activation_of(const Operation* op) {
  switch (op->kind()) {
    case OpKind::Relu:
      return ActivationAttrs{Activation::Relu};
    case OpKind::Clip:
      return clip_activation(op);
    case OpKind::LeakyRelu:
      return ActivationAttrs{Activation::LeakyRelu, op->attrs_as<LeakyReluAttrs>().alpha};
    case OpKind::Sigmoid:
      return ActivationAttrs{Activation::Sigmoid};
    case OpKind::Tanh:
      return ActivationAttrs{Activation::Tanh};
    case OpKind::Silu:
      if (op->attrs_as<SiluAttrs>().alpha != 1) return std::nullopt;
      return ActivationAttrs{Activation::Silu};
    case OpKind::HardSwish:
      return ActivationAttrs{Activation::HardSwish};
    case OpKind::HardSigmoid: {
      const auto& attrs = op->attrs_as<HardSigmoidAttrs>();
      return ActivationAttrs{Activation::HardSigmoid, attrs.alpha, attrs.beta};
    }
    case OpKind::Gelu:
      return ActivationAttrs{op->attrs_as<GeluAttrs>().form == GeluForm::Tanh ? Activation::GeluTanh
                                                                              : Activation::Gelu};
    default:
      return std::nullopt;
  }
}

template <class A>
void set_activation(Attrs& attrs, const ActivationAttrs& activation) {
  A& edited = attrs.edit<A>();
  edited.activation = activation.kind;
  edited.act_alpha = activation.alpha;
  edited.act_beta = activation.beta;
}

bool has_activation(const Operation* op) {
  switch (op->kind()) {
    case OpKind::Conv:
      return op->attrs_as<ConvAttrs>().activation != Activation::None;
    case OpKind::ConvTranspose:
      return op->attrs_as<ConvTransposeAttrs>().activation != Activation::None;
    case OpKind::MatMul:
      return op->attrs_as<MatMulAttrs>().activation != Activation::None;
    default:
      return op->attrs_as<GemmAttrs>().activation != Activation::None;
  }
}

Result<bool> fuse_activation(Rewriter& rewriter, Operation* op) {
  Operation* sum = op->input(0)->producer();
  if (!is_weighted_sum(sum) || !has_single_use(op->input(0)) || has_activation(sum)) return false;
  if (has_quant(op) || has_quant(sum) || !is_float(op->output()->dtype())) return false;
  const auto activation = activation_of(op);
  if (!activation) return false;
  Attrs attrs = sum->attrs();
  switch (sum->kind()) {
    case OpKind::Conv:
      set_activation<ConvAttrs>(attrs, *activation);
      break;
    case OpKind::ConvTranspose:
      set_activation<ConvTransposeAttrs>(attrs, *activation);
      break;
    case OpKind::MatMul:
      set_activation<MatMulAttrs>(attrs, *activation);
      break;
    default:
      set_activation<GemmAttrs>(attrs, *activation);
      break;
  }
  EC_TRY(Tensor * result, rewriter.add(sum->kind(), sum->inputs(), std::move(attrs), {sum, op}));
  rewriter.replace(op, result);
  return true;
}

// add(conv(x, w), r) with r of the result's shape. Nothing but the sum reads the convolution, so r
// cannot depend on it.
Result<bool> fuse_residual(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  for (size_t side = 2; side-- > 0;) {
    Operation* conv = produced_by(op->input(side), OpKind::Conv);
    Tensor* residual = op->input(1 - side);
    if (conv == nullptr || !is_open(conv) || has_quant(conv)) continue;
    if (!has_single_use(op->input(side)) || residual->is_constant()) continue;
    if (!same_shape(residual, op->input(side)) || !is_float(residual->dtype())) continue;
    std::vector<Tensor*> inputs = conv->inputs();
    inputs.resize(4, nullptr);
    inputs[3] = residual;
    EC_TRY(Tensor * result,
           rewriter.add(OpKind::Conv, std::move(inputs), conv->attrs(), {conv, op}));
    rewriter.replace(op, result);
    return true;
  }
  return false;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Add, fuse_residual, "residuals"},
    {OpKind::Relu, fuse_activation, "activations"},
    {OpKind::Clip, fuse_activation, "activations"},
    {OpKind::LeakyRelu, fuse_activation, "activations"},
    {OpKind::Sigmoid, fuse_activation, "activations"},
    {OpKind::Tanh, fuse_activation, "activations"},
    {OpKind::Silu, fuse_activation, "activations"},
    {OpKind::HardSwish, fuse_activation, "activations"},
    {OpKind::HardSigmoid, fuse_activation, "activations"},
    {OpKind::Gelu, fuse_activation, "activations"},
};

}  // namespace

const PassInfo kFuseActivationsPass{
    .name = "fuse-activations",
    .summary = "Merges activations and residual additions into the weighted sum before them.",
    .details =
        "For execution only: model formats have no such operations. conv, conv_transpose, matmul "
        "and gemm take relu, clip, leaky_relu, sigmoid, tanh, silu, hard_swish, hard_sigmoid and "
        "gelu; conv also takes an addition of a tensor of its result's shape, before the "
        "activation.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kFuseActivationsPass.name, kRules);
    }};

}  // namespace ec::passes
