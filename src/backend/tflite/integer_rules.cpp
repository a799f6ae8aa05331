// The integer rules of TFLite, one line per operation: what it adds to the rules of the op table.
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
OpRule with_operands(OpRule rule, Roles roles) {
  rule.operands = std::move(roles);
  return rule;
}
// Convolutions and linear layers. An activation that they carry takes the place of one behind them.
OpRule weighted(OpRule rule, int32_t weights_axis, Activation activation) {
  rule = with_operands(std::move(rule), {kActivation, kWeights, kBias});
  rule.weights_axis = weights_axis;
  rule.fuses_activation = activation == Activation::None;
  return rule;
}
OpRule fixed(OpRule rule, float scale, int32_t zero_point) {
  rule = with_operands(std::move(rule), {kActivation});
  rule.fixed = QuantParams{{scale}, {zero_point}, -1};
  return rule;
}
OpRule moving(OpRule rule, Roles roles) {
  rule = with_operands(std::move(rule), std::move(roles));
  rule.moves_data = true;
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

OpRule conv(const Operation& op, OpRule rule) {
  const auto& attrs = op.attrs_as<ConvAttrs>();
  if (std::optional<OpRule> refused = refuse_weighted<ConvAttrs>(op)) return *refused;
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  if (op.input(3) != nullptr) return no("a residual is fused into it");
  if (attrs.layout != Layout::ChannelsLast || op.input(1)->shape()->rank() != 4)
    return no("it is no 2-D convolution with channels last");
  return weighted(std::move(rule), 0, attrs.activation);
}

// Weights are [I, h, w, O/groups] with channels last.
OpRule conv_transpose(const Operation& op, OpRule rule) {
  const auto& attrs = op.attrs_as<ConvTransposeAttrs>();
  if (std::optional<OpRule> refused = refuse_weighted<ConvTransposeAttrs>(op)) return *refused;
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  if (attrs.layout != Layout::ChannelsLast || op.input(1)->shape()->rank() != 4)
    return no("it is no 2-D convolution with channels last");
  if (attrs.groups != 1) return no("it has groups");
  return weighted(std::move(rule), 3, attrs.activation);
}

// TFLite has biases of one value for all results or one for each, nothing else.
bool is_vector_bias(const Tensor* bias, int64_t results) {
  if (bias == nullptr || bias->type().num_elements() == 1) return true;
  return bias->shape()->rank() >= 1 && bias->type().num_elements() == results;
}

// A linear layer with constant weights, from either operation that stands for one.
template <class A>
OpRule linear(const Operation& op, OpRule rule) {
  if (std::optional<OpRule> refused = refuse_weighted<A>(op)) return *refused;
  const auto& attrs = op.attrs_as<A>();
  const int32_t axis = attrs.transpose_b ? 0 : 1;
  const Shape& weights = *op.input(1)->shape();
  if (weights.rank() != 2) return no("its weights are no matrix");
  if (!is_vector_bias(op.input(2), weights[static_cast<size_t>(axis)].size()))
    return no("its bias differs from row to row");
  return weighted(std::move(rule), axis, attrs.activation);
}

OpRule gemm(const Operation& op, OpRule rule) {
  const auto& attrs = op.attrs_as<GemmAttrs>();
  if (attrs.alpha != 1.0f || (op.input(2) != nullptr && attrs.beta != 1.0f) || attrs.transpose_a)
    return no("it scales or transposes its operands");
  if (!is_float_constant(op.input(1))) return no("its weights are not constant");
  return linear<GemmAttrs>(op, std::move(rule));
}

OpRule matmul(const Operation& op, OpRule rule) {
  const auto& attrs = op.attrs_as<MatMulAttrs>();
  if (attrs.alpha != 1.0f) return no("it scales its operands");
  const bool constant = is_float_constant(op.input(1));
  if (constant && op.input(1)->shape()->rank() == 2 && attrs.transpose_b && !attrs.transpose_a)
    return linear<MatMulAttrs>(op, std::move(rule));
  if (attrs.activation != Activation::None || op.input(2) != nullptr)
    return no("a bias or an activation is fused into a batched product");
  return with_operands(std::move(rule), {kActivation, constant ? kWeights : kActivation});
}

// relu, relu6 and their relatives; other bounds have no operator.
OpRule clip(const Operation& op, OpRule rule) {
  const bool to_one = clip_bound(op, 1, -INFINITY) == 0.0f && clip_bound(op, 2, INFINITY) == 1.0f;
  if (!to_one && !fused_clamp(op)) return no("its bounds are none of those TFLite has");
  return with_operands(std::move(rule), {kActivation, kPlain});
}

OpRule wide_clip(const Operation& op, OpRule rule) {
  if (fused_clamp(op) != FusedClamp::Relu6) return no("its bounds have no operator with 16 bits");
  return clip(op, std::move(rule));
}

OpRule resize(const Operation& op, OpRule rule) {
  const ec::ResizeMode mode = op.attrs_as<ResizeAttrs>().mode;
  if (mode == ec::ResizeMode::Cubic) return no("cubic resizing has no integer form");
  if (mode == ec::ResizeMode::Nearest) return moving(std::move(rule), {kActivation, kPlain});
  return with_operands(std::move(rule), {kActivation, kPlain});
}

OpRule softmax_like(const Operation& op, OpRule rule) {
  const Tensor* x = op.input(0);
  const int64_t axis = op.attrs_as<AxisAttrs>().axis;
  if (!x->shape()) return no("the rank of its input is not known");
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  if (axis != -1 && axis != rank - 1) return no("it works along a dimension other than the last");
  return rule;
}

OpRule max_pool(const Operation& op, OpRule rule) {
  if (op.outputs().size() > 1) return no("it also gives the indices of the maxima");
  return with_operands(std::move(rule), {kActivation});
}

OpRule all_operands(const Operation&, OpRule rule) {
  return with_operands(std::move(rule), {kActivation});
}
OpRule first_operand(const Operation&, OpRule rule) {
  return with_operands(std::move(rule), {kActivation, kPlain});
}
OpRule arithmetic(const Operation& op, OpRule rule) {
  rule.fuses_activation = true;
  return all_operands(op, std::move(rule));
}
OpRule move_first(const Operation&, OpRule rule) {
  return moving(std::move(rule), {kActivation, kPlain});
}
OpRule move_all(const Operation&, OpRule rule) { return moving(std::move(rule), {kActivation}); }
OpRule pad(const Operation&, OpRule rule) {
  return moving(std::move(rule), {kActivation, kPlain, kActivation, kPlain});
}

// --- prescribed parameters -----------------------------------------------------------------------
// Results between 0 and 1, between -1 and 1, and between -1 and 1 on 16 bits.
OpRule unit(const Operation&, OpRule rule) { return fixed(std::move(rule), 1.0f / 256, -128); }
OpRule signed_unit(const Operation&, OpRule rule) { return fixed(std::move(rule), 1.0f / 128, 0); }
OpRule wide_unit(const Operation&, OpRule rule) { return fixed(std::move(rule), 1.0f / 32768, 0); }

OpRule softmax(const Operation& op, OpRule rule) {
  return softmax_like(op, unit(op, std::move(rule)));
}
OpRule wide_softmax(const Operation& op, OpRule rule) {
  return softmax_like(op, wide_unit(op, std::move(rule)));
}
OpRule log_softmax(const Operation& op, OpRule rule) {
  return softmax_like(op, fixed(std::move(rule), 16.0f / 256, 127));
}
OpRule l2_norm(const Operation& op, OpRule rule) {
  if (op.attrs_as<LpNormAttrs>().p != 2) return no("only the 2-norm has an integer form");
  return signed_unit(op, std::move(rule));
}

// --- the table -----------------------------------------------------------------------------------
// What TFLite adds to the op table's rule: the roles of operands, prescribed parameters, and the
// forms that it lacks.
using Describe = OpRule (*)(const Operation& op, OpRule rule);

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
    {OpKind::SquaredDifference, all_operands, nullptr},
    {OpKind::Max, all_operands, all_operands},
    {OpKind::Min, all_operands, all_operands},
    {OpKind::Equal, all_operands, all_operands},
    {OpKind::Less, all_operands, all_operands},
    {OpKind::LessOrEqual, all_operands, all_operands},
    {OpKind::Greater, all_operands, all_operands},
    {OpKind::GreaterOrEqual, all_operands, all_operands},

    {OpKind::Relu, all_operands, all_operands},
    {OpKind::LeakyRelu, all_operands, all_operands},
    {OpKind::HardSwish, all_operands, nullptr},
    {OpKind::Elu, all_operands, nullptr},
    {OpKind::Gelu, all_operands, all_operands},
    {OpKind::Prelu, all_operands, nullptr},
    {OpKind::Exp, all_operands, all_operands},
    {OpKind::Log, all_operands, all_operands},
    {OpKind::Abs, all_operands, all_operands},
    {OpKind::Rsqrt, all_operands, all_operands},
    {OpKind::Clip, clip, wide_clip},
    {OpKind::Sigmoid, unit, wide_unit},
    {OpKind::Tanh, signed_unit, wide_unit},
    {OpKind::Softmax, softmax, wide_softmax},
    {OpKind::LogSoftmax, log_softmax, nullptr},
    {OpKind::LpNorm, l2_norm, nullptr},

    {OpKind::ReduceMean, first_operand, first_operand},
    {OpKind::ReduceSum, first_operand, nullptr},
    {OpKind::ReduceMax, first_operand, first_operand},
    {OpKind::ReduceMin, first_operand, first_operand},
    {OpKind::ArgMax, all_operands, nullptr},
    {OpKind::ArgMin, all_operands, nullptr},
    {OpKind::GlobalAvgPool, all_operands, all_operands},
    {OpKind::GlobalMaxPool, all_operands, all_operands},
    {OpKind::AvgPool, all_operands, all_operands},
    {OpKind::MaxPool, max_pool, max_pool},

    {OpKind::Concat, move_all, move_all},
    {OpKind::Identity, move_first, move_first},
    {OpKind::Reshape, move_first, move_first},
    {OpKind::Flatten, move_first, move_first},
    {OpKind::Squeeze, move_first, move_first},
    {OpKind::Unsqueeze, move_first, move_first},
    {OpKind::Expand, move_first, move_first},
    {OpKind::Transpose, move_first, move_first},
    {OpKind::Split, move_first, move_first},
    {OpKind::Slice, move_first, move_first},
    {OpKind::Tile, move_first, move_first},
    {OpKind::Gather, move_first, move_first},
    {OpKind::GatherNd, move_first, nullptr},
    {OpKind::DepthToSpace, move_first, nullptr},
    {OpKind::SpaceToDepth, move_first, nullptr},
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
  OpRule rule = describe(op, rule_from_table(op.def()));
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
