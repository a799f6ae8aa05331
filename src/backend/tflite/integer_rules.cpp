// The integer rules of TFLite, one line per operation.
#include "backend/tflite/integer_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"
#include "ops/clamp.h"
#include "ops/op_def.h"

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

// The checks that convolutions and linear layers share; empty: nothing stands against integers.
template <class A>
std::optional<OpRule> refuse_weighted(const Operation& op) {
  const auto& attrs = op.attrs_as<A>();
  if (!fused_clamp(attrs.activation, attrs.act_alpha, attrs.act_beta))
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

// TFLite has biases of one value for all results or one for each, nothing else.
bool is_vector_bias(const Tensor* bias, int64_t results) {
  if (bias == nullptr || bias->type().num_elements() == 1) return true;
  return bias->shape()->rank() >= 1 && bias->type().num_elements() == results;
}

// A linear layer with constant weights, from either operation that stands for one.
template <class A>
OpRule linear(const Operation& op) {
  if (std::optional<OpRule> refused = refuse_weighted<A>(op)) return *refused;
  const auto& attrs = op.attrs_as<A>();
  const int32_t axis = attrs.transpose_b ? 0 : 1;
  const Shape& weights = *op.input(1)->shape();
  if (weights.rank() != 2) return no("its weights are no matrix");
  if (!is_vector_bias(op.input(2), weights[static_cast<size_t>(axis)].size()))
    return no("its bias differs from row to row");
  OpRule rule = calibrated({kActivation, kWeights, kBias}, attrs.activation == Activation::None);
  rule.weights_axis = axis;
  return rule;
}

OpRule gemm(const Operation& op) {
  const auto& attrs = op.attrs_as<GemmAttrs>();
  if (attrs.alpha != 1.0f || (op.input(2) != nullptr && attrs.beta != 1.0f) || attrs.transpose_a)
    return no("it scales or transposes its operands");
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  return linear<GemmAttrs>(op);
}

OpRule matmul(const Operation& op) {
  const auto& attrs = op.attrs_as<MatMulAttrs>();
  if (attrs.alpha != 1.0f) return no("it scales its operands");
  const bool constant = is_float_constant(op.input(1));
  if (constant && op.input(1)->shape()->rank() == 2 && attrs.transpose_b && !attrs.transpose_a)
    return linear<MatMulAttrs>(op);
  if (attrs.activation != Activation::None || op.input(2) != nullptr)
    return no("a bias or an activation is fused into a batched product");
  return calibrated({kActivation, constant ? kWeights : kActivation});
}

// relu6 and its two relatives; other bounds have no operator.
OpRule clip(const Operation& op) {
  const float low = clip_bound(op, 1, -INFINITY), high = clip_bound(op, 2, INFINITY);
  const bool known = fused_clamp(op) || (low == 0.0f && high == 1.0f);
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

OpRule max_pool(const Operation& op) {
  if (op.outputs().size() > 1) return no("it also gives the indices of the maxima");
  return same_scale({kActivation});
}

OpRule wide_clip(const Operation& op) {
  if (fused_clamp(op) != FusedClamp::Relu6) return no("its bounds have no operator with 16 bits");
  return clip(op);
}

// --- the table -----------------------------------------------------------------------------------
using Describe = OpRule (*)(const Operation& op);

OpRule elementwise(const Operation&) { return calibrated({kActivation}); }
OpRule arithmetic(const Operation&) { return calibrated({kActivation}, true); }
OpRule reduction(const Operation&) { return calibrated({kActivation, kPlain}); }
OpRule selection(const Operation&) { return same_scale({kActivation}); }
OpRule reduced_selection(const Operation&) { return same_scale({kActivation, kPlain}); }
OpRule comparison(const Operation&) { return plain_result({kActivation}); }
OpRule movement(const Operation&) { return same_scale({kActivation, kPlain}, true); }
OpRule concat(const Operation&) { return same_scale({kActivation}, true); }
OpRule pad(const Operation&) {
  return same_scale({kActivation, kPlain, kActivation, kPlain}, true);
}
OpRule sigmoid(const Operation&) { return fixed(1.0f / 256, -128); }
OpRule tanh(const Operation&) { return fixed(1.0f / 128, 0); }
OpRule softmax(const Operation& op) { return softmax_like(op, fixed(1.0f / 256, -128)); }
OpRule log_softmax(const Operation& op) { return softmax_like(op, fixed(16.0f / 256, 127)); }
OpRule unit(const Operation&) { return unit_wide(); }
OpRule wide_softmax(const Operation& op) { return softmax_like(op, unit_wide()); }

// Operations with 8-bit activations, and with 16-bit ones; null: LiteRT has no such operator.
struct IntegerOp {
  OpKind kind;
  Describe narrow, wide;
};

constexpr IntegerOp kOps[] = {
    {OpKind::Conv, conv, conv},
    {OpKind::ConvTranspose, conv_transpose, conv_transpose},
    {OpKind::Gemm, gemm, gemm},
    {OpKind::MatMul, matmul, matmul},

    {OpKind::Add, arithmetic, arithmetic},
    {OpKind::Sub, arithmetic, arithmetic},
    {OpKind::Mul, arithmetic, arithmetic},
    {OpKind::SquaredDifference, elementwise, nullptr},
    {OpKind::Max, selection, selection},
    {OpKind::Min, selection, selection},

    {OpKind::Relu, elementwise, elementwise},
    {OpKind::LeakyRelu, elementwise, elementwise},
    {OpKind::HardSwish, elementwise, nullptr},
    {OpKind::Elu, elementwise, nullptr},
    {OpKind::Gelu, elementwise, elementwise},
    {OpKind::Prelu, elementwise, nullptr},
    {OpKind::Exp, elementwise, elementwise},
    {OpKind::Log, elementwise, elementwise},
    {OpKind::Abs, elementwise, elementwise},
    {OpKind::Rsqrt, elementwise, elementwise},
    {OpKind::Clip, clip, wide_clip},
    {OpKind::Sigmoid, sigmoid, unit},
    {OpKind::Tanh, tanh, unit},
    {OpKind::Softmax, softmax, wide_softmax},
    {OpKind::LogSoftmax, log_softmax, nullptr},
    {OpKind::LpNorm, l2_norm, nullptr},

    {OpKind::ReduceMean, reduction, reduction},
    {OpKind::ReduceSum, reduction, nullptr},
    {OpKind::GlobalAvgPool, elementwise, elementwise},
    {OpKind::AvgPool, selection, selection},
    {OpKind::GlobalMaxPool, selection, selection},
    {OpKind::MaxPool, max_pool, max_pool},
    {OpKind::ReduceMax, reduced_selection, reduced_selection},
    {OpKind::ReduceMin, reduced_selection, reduced_selection},
    {OpKind::ArgMax, comparison, nullptr},
    {OpKind::ArgMin, comparison, nullptr},
    {OpKind::Equal, comparison, comparison},
    {OpKind::Less, comparison, comparison},
    {OpKind::LessOrEqual, comparison, comparison},
    {OpKind::Greater, comparison, comparison},
    {OpKind::GreaterOrEqual, comparison, comparison},

    {OpKind::Concat, concat, concat},
    {OpKind::Identity, movement, movement},
    {OpKind::Reshape, movement, movement},
    {OpKind::Flatten, movement, movement},
    {OpKind::Squeeze, movement, movement},
    {OpKind::Unsqueeze, movement, movement},
    {OpKind::Expand, movement, movement},
    {OpKind::Transpose, movement, movement},
    {OpKind::Split, movement, movement},
    {OpKind::Slice, movement, movement},
    {OpKind::Tile, movement, movement},
    {OpKind::Gather, movement, movement},
    {OpKind::GatherNd, movement, nullptr},
    {OpKind::DepthToSpace, movement, nullptr},
    {OpKind::SpaceToDepth, movement, nullptr},
    {OpKind::Pad, pad, pad},
    {OpKind::Resize, resize, resize},
};

OpRule rule_of(const Operation& op, Width width, bool dense_per_channel) {
  const auto found = std::ranges::find(kOps, op.kind(), &IntegerOp::kind);
  if (found == std::end(kOps))
    return no(fmt::format("{} has no integer form in TFLite", op.def().name));
  const Describe describe = width == Width::Wide ? found->wide : found->narrow;
  if (describe == nullptr)
    return no(fmt::format("{} has no form with 16-bit activations in TFLite", op.def().name));
  OpRule rule = describe(op);
  if (!dense_per_channel && (op.kind() == OpKind::Gemm || op.kind() == OpKind::MatMul))
    rule.weights_axis = -1;
  return rule;
}

}  // namespace

OpRule describe_tflite_op(const Operation& op, Width width, bool dense_per_channel) {
  OpRule rule = rule_of(op, width, dense_per_channel);
  if (!rule.integer) return rule;
  // Only real numbers are quantised; shape arithmetic uses the same ops on integers.
  for (size_t i = 0; i < op.inputs().size(); ++i)
    if (op.input(i) != nullptr && rule.role(i) != kPlain && op.input(i)->dtype() != DType::F32)
      return no(fmt::format("it computes on {}", dtype_name(op.input(i)->dtype())));
  for (const Tensor* output : op.outputs())
    if (!output->type().has_rank()) return no("the rank of its result is not known");
  return rule;
}

std::vector<OpKind> tflite_integer_ops(Width width) {
  std::vector<OpKind> kinds;
  for (const IntegerOp& op : kOps)
    if ((width == Width::Wide ? op.wide : op.narrow) != nullptr) kinds.push_back(op.kind);
  return kinds;
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
