// Activations and normalisations.
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

template <int kLow, int kHigh>
Status bounded(OpContext& ctx) {
  EC_TRY(ec::Tensor * result,
         ctx.clip(ctx.in(0), static_cast<float>(kLow), static_cast<float>(kHigh)));
  return ctx.set(0, result);
}

AxisAttrs last_axis() {
  AxisAttrs attrs;
  attrs.axis = -1;
  return attrs;
}

Status softmax(OpContext& ctx) {
  const float beta = ctx.options<SoftmaxOptions>().beta();
  ec::Tensor* x = ctx.in(0);
  if (beta != 1.0f) {
    if (x->type().quant)
      return ctx.unsupported("a softmax of integers with beta " + std::to_string(beta));
    EC_TRY(x, ctx.add(OpKind::Mul, {x, ctx.scalar(x->dtype(), double{beta})}));
  }
  // TFLite Micro has a form that gives 8-bit numbers a 16-bit result.
  EC_TRY(const DType to, ctx.out_dtype());
  const bool widens = x->type().quant && x->dtype() == DType::I8 && to == DType::I16;
  return ctx.finish(widens ? OpKind::SoftmaxI16 : OpKind::Softmax, {x}, last_axis());
}

Status log_softmax(OpContext& ctx) {
  return ctx.finish(OpKind::LogSoftmax, {ctx.in(0)}, last_axis());
}

Status leaky_relu(OpContext& ctx) {
  LeakyReluAttrs attrs;
  attrs.alpha = ctx.options<LeakyReluOptions>().alpha();
  return ctx.finish(OpKind::LeakyRelu, {ctx.in(0)}, attrs);
}

Status elu(OpContext& ctx) { return ctx.finish(OpKind::Elu, {ctx.in(0)}, AlphaAttrs{}); }

Status gelu(OpContext& ctx) {
  GeluAttrs attrs;
  attrs.form = ctx.options<GeluOptions>().approximate() ? GeluForm::Tanh : GeluForm::Exact;
  return ctx.finish(OpKind::Gelu, {ctx.in(0)}, attrs);
}

Status l2_normalization(OpContext& ctx) {
  return ctx.finish_activated(OpKind::LpNorm, {ctx.in(0)}, LpNormAttrs{},
                              ctx.options<L2NormOptions>().fused_activation_function());
}

// The sum runs over 2 * radius + 1 channels; the IR's alpha is divided by that number.
Status local_response_normalization(OpContext& ctx) {
  const auto& options = ctx.options<LocalResponseNormalizationOptions>();
  if (options.radius() < 0 || options.radius() > (1 << 20))
    return ctx.fail(Code::BadAttribute, "the radius is " + std::to_string(options.radius()));
  LrnAttrs attrs;
  attrs.size = 2 * int64_t{options.radius()} + 1;
  attrs.alpha = options.alpha() * static_cast<float>(attrs.size);
  attrs.beta = options.beta();
  attrs.bias = options.bias();
  attrs.layout = Layout::ChannelsLast;
  return ctx.finish(OpKind::Lrn, {ctx.in(0)}, attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {BuiltinOperator::RELU, k1, k1, direct<OpKind::Relu>},
    {BuiltinOperator::RELU6, k1, k1, bounded<0, 6>},
    {BuiltinOperator::RELU_N1_TO_1, k1, k1, bounded<-1, 1>},
    {BuiltinOperator::RELU_0_TO_1, k1, k1, bounded<0, 1>},
    {BuiltinOperator::TANH, k1, k1, direct<OpKind::Tanh>},
    {BuiltinOperator::LOGISTIC, k1, k1, direct<OpKind::Sigmoid>},
    {BuiltinOperator::SOFTMAX, k1, k1, softmax},
    {BuiltinOperator::LOG_SOFTMAX, k1, k1, log_softmax},
    {BuiltinOperator::LEAKY_RELU, k1, k1, leaky_relu},
    {BuiltinOperator::PRELU, k2, k1, direct<OpKind::Prelu>},
    {BuiltinOperator::ELU, k1, k1, elu},
    {BuiltinOperator::HARD_SWISH, k1, k1, direct<OpKind::HardSwish>},
    {BuiltinOperator::GELU, k1, k1, gelu},
    {BuiltinOperator::L2_NORMALIZATION, k1, k1, l2_normalization},
    {BuiltinOperator::LOCAL_RESPONSE_NORMALIZATION, k1, k1, local_response_normalization},
};

}  // namespace

const std::span<const OpRow> kActivationRows = kRows;

}  // namespace ec::tflite
