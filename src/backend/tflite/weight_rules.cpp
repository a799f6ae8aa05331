// Which operators of TFLite compute on floats with 8-bit weights (its hybrid kernels), one line per
// operation.
#include "backend/tflite/integer_rules.h"
#include "ops/attrs.h"
#include "ops/sequence_cell.h"

namespace ec::quantize {
namespace {

bool is_float_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32;
}

WeightRule read(std::vector<size_t> operands, int32_t axis) {
  return {WeightUse::Read, std::move(operands), axis};
}

// Weights are [O, h, w, I/groups]. The kernels read images with one group or one per channel.
WeightRule conv(const Operation& op) {
  const auto& attrs = op.attrs_as<ConvAttrs>();
  const bool image = attrs.layout == Layout::ChannelsLast && op.input(1)->shape()->rank() == 4;
  const bool grouped = attrs.groups > 1 && (*op.input(1)->shape())[3] != Dim(1);
  if (!image || grouped || op.input(3) != nullptr) return {WeightUse::Dequantized, {1}, 0};
  return read({1}, 0);
}

// Weights are [I, h, w, O/groups].
WeightRule conv_transpose(const Operation& op) {
  const auto& attrs = op.attrs_as<ConvTransposeAttrs>();
  if (attrs.layout != Layout::ChannelsLast || op.input(1)->shape()->rank() != 4) return {};
  return read({1}, 3);
}

// A matrix of constants belongs to a fully connected layer; batched products have one scale.
WeightRule matmul(const Operation& op) {
  const auto& attrs = op.attrs_as<MatMulAttrs>();
  const bool dense = op.input(1)->shape()->rank() == 2 && attrs.transpose_b && !attrs.transpose_a;
  return read({1}, dense ? 0 : -1);
}

WeightRule describe(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Conv:
      return conv(op);
    case OpKind::ConvTranspose:
      return conv_transpose(op);
    case OpKind::Gemm:
      return read({1}, op.attrs_as<GemmAttrs>().transpose_b ? 0 : 1);
    case OpKind::MatMul:
      return matmul(op);
    case OpKind::Gather:
      return {WeightUse::Moved, {0}, -1};
    case OpKind::LstmSequence:
      return read({1, 2, 3, 4, 5, 6, 7, 8, ops::kLstmProjection}, -1);
    case OpKind::RnnSequence:
      return read({ops::kRnnWeights, ops::kRnnRecurrent}, -1);
    case OpKind::Svdf:
      return read({ops::kSvdfFeature}, -1);
    default:
      return {};
  }
}

}  // namespace

WeightRule describe_tflite_weights(const Operation& op) {
  // Where the weights are computed or no floats, there is nothing to store.
  const size_t weights = op.kind() == OpKind::Gather ? 0 : 1;
  if (op.inputs().size() <= weights) return {};
  const bool sequence = op.kind() == OpKind::LstmSequence;
  if (!sequence && !is_float_constant(op.input(weights))) return {};
  return describe(op);
}

}  // namespace ec::quantize
