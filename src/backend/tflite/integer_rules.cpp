// The integer rules of TFLite, one line per operation.
#include "backend/tflite/integer_rules.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/target/clip_bounds.h"

namespace ec::quantize {
namespace {

using Roles = std::vector<OperandRole>;
constexpr OperandRole kPlain = OperandRole::Plain, kActivation = OperandRole::Activation,
                      kWeights = OperandRole::Weights, kBias = OperandRole::Bias;

OpRule no(std::string reason) {
  OpRule rule;
  rule.reason = std::move(reason);
  return rule;
}
OpRule calibrated(Roles roles, bool fuses = false) {
  OpRule rule;
  rule.integer = true;
  rule.operands = std::move(roles);
  rule.fuses_activation = fuses;
  return rule;
}
OpRule same_scale(Roles roles, bool moves = false) {
  OpRule rule = calibrated(std::move(roles));
  rule.result = ResultRule::SameScale;
  rule.moves_data = moves;
  return rule;
}
OpRule fixed(float scale, int32_t zero_point) {
  OpRule rule = calibrated({kActivation});
  rule.result = ResultRule::Fixed;
  rule.fixed = QuantParams{{scale}, {zero_point}, -1};
  return rule;
}
// Results between -1 and 1 on 16 bits.
OpRule unit_wide() { return fixed(1.0f / 32768, 0); }
OpRule plain_result(Roles roles) {
  OpRule rule = calibrated(std::move(roles));
  rule.result = ResultRule::Plain;
  return rule;
}

bool is_float_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32;
}

// What TFLite's fused activation field can say.
bool is_fusable(Activation activation, float low, float high) {
  switch (activation) {
    case Activation::None:
    case Activation::Relu:
    case Activation::Relu6:
      return true;
    case Activation::Clip:
      return (low == 0.0f && (high == 6.0f || std::isinf(high))) || (low == -1.0f && high == 1.0f);
    default:
      return false;
  }
}

// The common part of convolutions and linear layers: what may stand in the operands.
template <class A>
std::optional<OpRule> refuse_weighted(const Operation& op) {
  const auto& attrs = op.attrs_as<A>();
  if (!is_fusable(attrs.activation, attrs.act_alpha, attrs.act_beta))
    return no("its fused activation has no integer form");
  if (op.input(2) != nullptr && !is_float_constant(op.input(2)))
    return no("its bias is not a constant");
  return std::nullopt;
}

OpRule conv(const Operation& op) {
  const auto& attrs = op.attrs_as<ConvAttrs>();
  if (std::optional<OpRule> refused = refuse_weighted<ConvAttrs>(op)) return *refused;
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  if (op.input(3) != nullptr) return no("a residual is fused into it");
  if (attrs.layout != Layout::ChannelsLast || op.input(1)->shape()->rank() != 4)
    return no("it is no 2-D convolution with channels last");
  OpRule rule = calibrated({kActivation, kWeights, kBias}, attrs.activation == Activation::None);
  rule.weights_axis = 0;
  return rule;
}

// Weights are [I, h, w, O/groups] with channels last.
OpRule conv_transpose(const Operation& op) {
  const auto& attrs = op.attrs_as<ConvTransposeAttrs>();
  if (std::optional<OpRule> refused = refuse_weighted<ConvTransposeAttrs>(op)) return *refused;
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  if (attrs.layout != Layout::ChannelsLast || op.input(1)->shape()->rank() != 4)
    return no("it is no 2-D convolution with channels last");
  if (attrs.groups != 1) return no("it has groups");
  OpRule rule = calibrated({kActivation, kWeights, kBias}, attrs.activation == Activation::None);
  rule.weights_axis = 3;
  return rule;
}

// One value for all results, or one for each: nothing else has a place in TFLite.
bool is_vector_bias(const Tensor* bias, int64_t results) {
  if (bias == nullptr || bias->type().num_elements() == 1) return true;
  return bias->shape()->rank() >= 1 && bias->type().num_elements() == results;
}

// The common part of both forms of a linear layer; weights are constant.
template <class A>
OpRule linear(const Operation& op, bool per_channel) {
  if (std::optional<OpRule> refused = refuse_weighted<A>(op)) return *refused;
  const auto& attrs = op.attrs_as<A>();
  const int32_t axis = attrs.transpose_b ? 0 : 1;
  const Shape& weights = *op.input(1)->shape();
  if (weights.rank() != 2) return no("its weights are no matrix");
  if (!is_vector_bias(op.input(2), weights[static_cast<size_t>(axis)].size()))
    return no("its bias differs from row to row");
  OpRule rule = calibrated({kActivation, kWeights, kBias}, attrs.activation == Activation::None);
  if (per_channel) rule.weights_axis = axis;
  return rule;
}

OpRule gemm(const Operation& op, bool per_channel) {
  const auto& attrs = op.attrs_as<GemmAttrs>();
  if (attrs.alpha != 1.0f || (op.input(2) != nullptr && attrs.beta != 1.0f) || attrs.transpose_a)
    return no("it scales or transposes its operands");
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  return linear<GemmAttrs>(op, per_channel);
}

OpRule matmul(const Operation& op, bool per_channel) {
  const auto& attrs = op.attrs_as<MatMulAttrs>();
  if (attrs.alpha != 1.0f) return no("it scales its operands");
  const bool constant = is_float_constant(op.input(1));
  if (constant && op.input(1)->shape()->rank() == 2 && attrs.transpose_b && !attrs.transpose_a)
    return linear<MatMulAttrs>(op, per_channel);
  if (attrs.activation != Activation::None || op.input(2) != nullptr)
    return no("a bias or an activation is fused into a batched product");
  return calibrated({kActivation, constant ? kWeights : kActivation});
}

// relu6 and its two relatives; other bounds have no operator.
OpRule clip(const Operation& op) {
  const float low = clip_bound(op, 1, -INFINITY), high = clip_bound(op, 2, INFINITY);
  const bool known = is_fusable(Activation::Clip, low, high) || (low == 0.0f && high == 1.0f);
  if (!known) return no("its bounds are none of those TFLite has");
  return calibrated({kActivation, kPlain});
}

OpRule resize(const Operation& op) {
  const ec::ResizeMode mode = op.attrs_as<ResizeAttrs>().mode;
  if (mode == ec::ResizeMode::Cubic) return no("cubic resizing has no integer form");
  return same_scale({kActivation, kPlain}, mode == ec::ResizeMode::Nearest);
}

OpRule softmax_like(const Operation& op, OpRule rule) {
  const Tensor* x = op.input(0);
  const int64_t axis = op.attrs_as<AxisAttrs>().axis;
  if (!x->shape()) return no("the rank of its input is not known");
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  if (axis != -1 && axis != rank - 1) return no("it works along a dimension other than the last");
  return rule;
}

OpRule l2_norm(const Operation& op) {
  if (op.attrs_as<LpNormAttrs>().p != 2) return no("only the 2-norm has an integer form");
  return fixed(1.0f / 128, 0);
}

OpRule narrow_rule(const Operation& op, bool dense_per_channel) {
  switch (op.kind()) {
    case OpKind::Conv:
      return conv(op);
    case OpKind::ConvTranspose:
      return conv_transpose(op);
    case OpKind::Gemm:
      return gemm(op, dense_per_channel);
    case OpKind::MatMul:
      return matmul(op, dense_per_channel);

    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
      return calibrated({kActivation}, true);
    case OpKind::SquaredDifference:
      return calibrated({kActivation});
    case OpKind::Max:
    case OpKind::Min:
      return same_scale({kActivation});

    case OpKind::Relu:
    case OpKind::LeakyRelu:
    case OpKind::HardSwish:
    case OpKind::Elu:
    case OpKind::Gelu:
    case OpKind::Prelu:
    case OpKind::Exp:
    case OpKind::Log:
    case OpKind::Abs:
    case OpKind::Rsqrt:
      return calibrated({kActivation});
    case OpKind::Clip:
      return clip(op);
    case OpKind::Sigmoid:
      return fixed(1.0f / 256, -128);
    case OpKind::Tanh:
      return fixed(1.0f / 128, 0);
    case OpKind::Softmax:
      return softmax_like(op, fixed(1.0f / 256, -128));
    case OpKind::LogSoftmax:
      return softmax_like(op, fixed(16.0f / 256, 127));
    case OpKind::LpNorm:
      return l2_norm(op);

    case OpKind::ReduceMean:
    case OpKind::ReduceSum:
      return calibrated({kActivation, kPlain});
    case OpKind::GlobalAvgPool:
      return calibrated({kActivation});
    case OpKind::AvgPool:
    case OpKind::GlobalMaxPool:
      return same_scale({kActivation});
    case OpKind::MaxPool:
      if (op.outputs().size() > 1) return no("it also gives the indices of the maxima");
      return same_scale({kActivation});
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
      return same_scale({kActivation, kPlain});
    case OpKind::ArgMax:
    case OpKind::ArgMin:
      return plain_result({kActivation});
    case OpKind::Equal:
    case OpKind::Less:
    case OpKind::LessOrEqual:
    case OpKind::Greater:
    case OpKind::GreaterOrEqual:
      return plain_result({kActivation});

    case OpKind::Concat:
      return same_scale({kActivation}, true);
    case OpKind::Identity:
    case OpKind::Reshape:
    case OpKind::Flatten:
    case OpKind::Squeeze:
    case OpKind::Unsqueeze:
    case OpKind::Expand:
    case OpKind::Transpose:
    case OpKind::Split:
    case OpKind::Slice:
    case OpKind::Tile:
    case OpKind::Gather:
    case OpKind::GatherNd:
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth:
      return same_scale({kActivation, kPlain}, true);
    case OpKind::Pad:
      return same_scale({kActivation, kPlain, kActivation, kPlain}, true);
    case OpKind::Resize:
      return resize(op);
    default:
      return no(fmt::format("{} has no integer form in TFLite", op.def().name));
  }
}

// The operators that LiteRT has with 16-bit activations follow the rules of 8 bits, but for
// prescribed results.
OpRule wide_rule(const Operation& op, bool dense_per_channel) {
  switch (op.kind()) {
    case OpKind::Sigmoid:
    case OpKind::Tanh:
      return unit_wide();
    case OpKind::Softmax:
      return softmax_like(op, unit_wide());
    case OpKind::Clip:
      if (!has_relu6_bounds(op)) return no("its bounds have no operator with 16 bits");
      break;
    case OpKind::Elu:
    case OpKind::HardSwish:
    case OpKind::Prelu:
    case OpKind::SquaredDifference:
    case OpKind::LogSoftmax:
    case OpKind::LpNorm:
    case OpKind::ReduceSum:
    case OpKind::ArgMax:
    case OpKind::ArgMin:
    case OpKind::GatherNd:
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth:
      return no(fmt::format("{} has no form with 16-bit activations in TFLite", op.def().name));
    default:
      break;
  }
  return narrow_rule(op, dense_per_channel);
}

}  // namespace

OpRule describe_tflite_op(const Operation& op, Width width, bool dense_per_channel) {
  OpRule rule =
      width == Width::Wide ? wide_rule(op, dense_per_channel) : narrow_rule(op, dense_per_channel);
  if (!rule.integer) return rule;
  // Only real numbers are quantised; shape arithmetic uses the same ops on integers.
  for (size_t i = 0; i < op.inputs().size(); ++i)
    if (op.input(i) != nullptr && rule.role(i) != kPlain && op.input(i)->dtype() != DType::F32)
      return no(fmt::format("it computes on {}", dtype_name(op.input(i)->dtype())));
  for (const Tensor* output : op.outputs())
    if (!output->type().has_rank()) return no("the rank of its result is not known");
  return rule;
}

const TargetSpec& tflite_spec() {
  static constexpr TargetSpec kSpec{
      .name = "tflite",
      .has_wide = true,
      .float_norms = true,
      .describe = [](const Operation& op,
                     Width width) { return describe_tflite_op(op, width, true); },
      .describe_weights = describe_tflite_weights,
      .has_float16 = true};
  return kSpec;
}

}  // namespace ec::quantize
