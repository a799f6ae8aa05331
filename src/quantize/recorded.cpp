#include "quantize/recorded.h"

#include "ops/attrs.h"
#include "ops/op_def.h"

namespace ec::quantize {
namespace {

template <class T>
std::vector<int32_t> as_ints(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

std::optional<std::vector<int32_t>> zero_points(const Tensor* tensor, size_t count) {
  if (tensor == nullptr) return std::vector<int32_t>(count, 0);
  if (!tensor->is_constant()) return std::nullopt;
  switch (tensor->dtype()) {
    case DType::I8:
      return as_ints<int8_t>(*tensor);
    case DType::U8:
      return as_ints<uint8_t>(*tensor);
    case DType::I16:
      return as_ints<int16_t>(*tensor);
    case DType::U16:
      return as_ints<uint16_t>(*tensor);
    case DType::I32:
      return as_ints<int32_t>(*tensor);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<PairParams> constant_params(const Operation& op) {
  const bool quantize = op.kind() == OpKind::Quantize;
  if (!quantize && op.kind() != OpKind::Dequantize) return std::nullopt;
  const Tensor* scale = op.input(1);
  if (scale == nullptr || !scale->is_constant() || scale->dtype() != DType::F32)
    return std::nullopt;
  PairParams result;
  const auto scales = scale->values<float>();
  result.params.scales.assign(scales.begin(), scales.end());
  std::optional<std::vector<int32_t>> zeros = zero_points(op.input(2), scales.size());
  if (!zeros || zeros->size() != scales.size()) return std::nullopt;
  result.params.zero_points = std::move(*zeros);
  const int64_t axis =
      quantize ? op.attrs_as<QuantizeAttrs>().axis : op.attrs_as<DequantizeAttrs>().axis;
  const int64_t block =
      quantize ? op.attrs_as<QuantizeAttrs>().block_size : op.attrs_as<DequantizeAttrs>().block_size;
  if (block != 0) return std::nullopt;
  result.params.axis = scales.size() > 1 || scale->shape()->rank() > 0
                           ? static_cast<int32_t>(axis)
                           : int32_t{-1};
  const DType stored = quantize ? op.output()->dtype() : op.input(0)->dtype();
  const auto shift = [&](DType to, int32_t by) {
    result.dtype = to;
    for (int32_t& zero : result.params.zero_points) zero -= by;
  };
  switch (stored) {
    case DType::I8:
    case DType::I16:
    case DType::I32:
      shift(stored, 0);
      return result;
    case DType::U8:
      shift(DType::I8, 128);
      return result;
    case DType::U16:
      shift(DType::I16, 32768);
      return result;
    default:
      return std::nullopt;
  }
}

RecordedWeights record_weights(const Graph& graph) {
  RecordedWeights recorded;
  for (const Operation* op : graph.topological()) {
    if (op->kind() != OpKind::Dequantize || !op->input(0)->is_constant()) continue;
    const std::optional<PairParams> found = constant_params(*op);
    if (!found || found->dtype != DType::I8) continue;
    // Through reshapes and transposes that exporters put in front of linear layers.
    const Tensor* weights = op->output();
    while (weights->uses().size() == 1 && (weights->uses()[0].op->kind() == OpKind::Transpose ||
                                           weights->uses()[0].op->kind() == OpKind::Reshape))
      weights = weights->uses()[0].op->output();
    for (const Use& use : weights->uses())
      if (use.index == 1)
        for (const std::string& name : use.op->location().nodes)
          recorded.emplace(name, found->params);
  }
  return recorded;
}

bool has_rounding_pairs(const Graph& graph) {
  for (const Operation* op : graph.topological()) {
    if (op->kind() != OpKind::Dequantize || !constant_params(*op)) continue;
    const Operation* before = op->input(0)->producer();
    if (before != nullptr && before->kind() == OpKind::Quantize && constant_params(*before))
      return true;
  }
  return false;
}

}  // namespace ec::quantize
