#include "quantize/rescale/weight_index.h"

#include "ops/attrs.h"
#include "ops/op_def.h"

namespace ec::quantize {
namespace {

// [O, kh, kw, I / groups]
WeightIndex conv_index(const Operation& op, std::span<const int64_t> shape) {
  const auto groups = static_cast<size_t>(op.attrs_as<ConvAttrs>().groups);
  const auto outputs = static_cast<size_t>(shape[0]);
  const auto taps = static_cast<size_t>(shape[1] * shape[2]);
  const auto inputs = static_cast<size_t>(shape[3]);
  WeightIndex index;
  index.outputs = outputs;
  index.inputs = inputs * groups;
  index.depthwise = inputs == 1 && groups == outputs;
  for (size_t o = 0; o < outputs; ++o)
    for (size_t t = 0; t < taps; ++t)
      for (size_t i = 0; i < inputs; ++i) {
        index.output.push_back(static_cast<uint32_t>(o));
        index.input.push_back(static_cast<uint32_t>(o / (outputs / groups) * inputs + i));
      }
  return index;
}

WeightIndex linear_index(bool transposed, std::span<const int64_t> shape) {
  const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
  WeightIndex index;
  index.outputs = transposed ? rows : columns;
  index.inputs = transposed ? columns : rows;
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      index.output.push_back(static_cast<uint32_t>(transposed ? r : c));
      index.input.push_back(static_cast<uint32_t>(transposed ? c : r));
    }
  return index;
}

}  // namespace

std::optional<WeightIndex> weight_index(const Operation& op) {
  const Tensor* weights = op.input(1);
  if (weights == nullptr || !weights->is_constant() || weights->dtype() != DType::F32)
    return std::nullopt;
  const std::vector<int64_t> shape = weights->shape()->sizes();
  switch (op.kind()) {
    case OpKind::Conv:
      if (op.attrs_as<ConvAttrs>().layout != Layout::ChannelsLast || shape.size() != 4)
        return std::nullopt;
      return conv_index(op, shape);
    case OpKind::Gemm:
      if (op.attrs_as<GemmAttrs>().transpose_a) return std::nullopt;
      return linear_index(op.attrs_as<GemmAttrs>().transpose_b, shape);
    case OpKind::MatMul:
      if (shape.size() != 2 || op.attrs_as<MatMulAttrs>().transpose_a) return std::nullopt;
      return linear_index(op.attrs_as<MatMulAttrs>().transpose_b, shape);
    default:
      return std::nullopt;
  }
}

}  // namespace ec::quantize
