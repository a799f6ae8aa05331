#include "backend/metal/integer_rules.h"

#include "backend/tflite/integer_rules.h"
#include "ops/attrs.h"
#include "ops/op_def.h"

namespace ec::quantize {
namespace {

// The axis of a weight's output channels; nothing where the operation's weights stay floats.
std::optional<int32_t> channel_axis(const Operation& op, size_t operand) {
  const Tensor* weights = op.input(operand);
  const size_t rank = weights->shape()->rank();
  switch (op.kind()) {
    case OpKind::Conv:
      return 0;
    case OpKind::ConvTranspose:
      return op.attrs_as<ConvTransposeAttrs>().groups == 1 ? 1 : -1;
    case OpKind::MatMul:
      if (rank != 2 || !op.attrs_as<MatMulAttrs>().transpose_b) return std::nullopt;
      return 0;
    case OpKind::Gemm:
      if (!op.attrs_as<GemmAttrs>().transpose_b) return std::nullopt;
      return 0;
    case OpKind::Gather:
      return rank == 2 ? std::optional<int32_t>(0) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Weights of 8 bits are unpacked when the program is compiled: every operation sees floats.
WeightRule describe_weights(const Operation& op) {
  const size_t operand = op.kind() == OpKind::Gather ? 0 : 1;
  const Tensor* weights = op.input(operand);
  if (weights == nullptr || !weights->is_constant() || weights->dtype() != DType::F32) return {};
  const auto axis = channel_axis(op, operand);
  if (!axis) return {};
  return {WeightUse::Dequantized, {operand}, *axis};
}

OpRule describe_convolution(const Operation& op, OpRule rule) {
  const bool known =
      op.input(1)->is_constant() && (op.input(2) == nullptr || op.input(2)->is_constant());
  if (!known) {
    rule.integer = false;
    rule.reason = "its weights or bias are computed";
    return rule;
  }
  rule.operands = {OperandRole::Activation, OperandRole::Weights, OperandRole::Bias};
  rule.weights_axis = *channel_axis(op, 1);
  rule.fuses_activation = true;
  return rule;
}

// TFLite's rules, but for operations over images, which have channels first in programs.
OpRule describe(const Operation& op, Width width) {
  const bool on_floats = op.input(0) != nullptr && op.input(0)->dtype() == DType::F32;
  if (width == Width::Wide || !on_floats) return describe_tflite_op(op, width, true);
  OpRule rule = rule_from_table(op.def());
  switch (op.kind()) {
    case OpKind::Conv:
    case OpKind::ConvTranspose:
      return describe_convolution(op, std::move(rule));
    case OpKind::MaxPool:
    case OpKind::AvgPool:
    case OpKind::GlobalAvgPool:
    case OpKind::GlobalMaxPool:
      rule.operands = {OperandRole::Activation};
      if (op.outputs().size() > 1) {
        rule.integer = false;
        rule.reason = "its positions are a result, too";
      }
      return rule;
    default:
      return describe_tflite_op(op, width, true);
  }
}

}  // namespace

const TargetSpec& metal_spec() {
  static constexpr TargetSpec kSpec{.name = "metal",
                                    .float_norms = true,
                                    .simulated = true,
                                    .describe = describe,
                                    .describe_weights = describe_weights};
  return kSpec;
}

}  // namespace ec::quantize
