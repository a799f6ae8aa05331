#include "model_builder.h"

namespace ec::testing {

using namespace tflite;

int32_t ModelBuilder::tensor(std::string name, std::vector<int32_t> shape, Type type) {
  const std::vector<float> scale = {0.5f};
  const std::vector<int64_t> zero = {0};
  const auto quant = type == Type::FLOAT32 ? 0
                                           : CreateQuantizationParametersDirect(
                                                 fbb_, nullptr, nullptr, &scale, &zero);
  tensors_.push_back(CreateTensorDirect(fbb_, &shape, type, 0, name.c_str(), quant));
  is_constant_.push_back(false);
  return static_cast<int32_t>(tensors_.size()) - 1;
}

int32_t ModelBuilder::constant(std::string name, std::vector<int32_t> shape, Type type,
                               std::vector<uint8_t> bytes) {
  size_t count = static_cast<size_t>(element_bits(type)) / 8;
  for (const int32_t size : shape) count *= static_cast<size_t>(size);
  bytes.resize(count);
  buffers_.push_back(CreateBufferDirect(fbb_, &bytes));
  const std::vector<float> scale = {0.5f};
  const std::vector<int64_t> zero = {0};
  const auto quant = CreateQuantizationParametersDirect(fbb_, nullptr, nullptr, &scale, &zero);
  // Buffer 0 is the empty one.
  tensors_.push_back(CreateTensorDirect(fbb_, &shape, type, static_cast<uint32_t>(buffers_.size()),
                                        name.c_str(), quant));
  is_constant_.push_back(true);
  return static_cast<int32_t>(tensors_.size()) - 1;
}

int32_t ModelBuilder::integers(std::string name, std::vector<int32_t> values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return constant(std::move(name), {static_cast<int32_t>(values.size())}, Type::INT32,
                  std::move(bytes));
}

size_t ModelBuilder::custom(std::string code, std::vector<int32_t> inputs,
                            std::vector<int32_t> outputs) {
  const size_t index = op(BuiltinOperator::CUSTOM, std::move(inputs), std::move(outputs));
  ops_[index].custom_code = std::move(code);
  return index;
}

size_t ModelBuilder::add(BuiltinOperator code, std::vector<int32_t> inputs,
                         std::vector<int32_t> outputs, BuiltinOptions kind,
                         flatbuffers::Offset<void> options) {
  ops_.push_back({code, {}, std::move(inputs), std::move(outputs), kind, options});
  return ops_.size() - 1;
}

Result<ModelFile> ModelBuilder::finish() {
  std::vector<flatbuffers::Offset<OperatorCode>> codes;
  std::vector<flatbuffers::Offset<Operator>> operators;
  std::vector<bool> produced(tensors_.size()), used(tensors_.size());
  for (const Op& op : ops_) {
    const auto number = static_cast<int32_t>(op.code);
    codes.push_back(CreateOperatorCodeDirect(
        fbb_, static_cast<int8_t>(std::min(number, 127)),
        op.custom_code.empty() ? nullptr : op.custom_code.c_str(), 1, number));
    operators.push_back(CreateOperatorDirect(fbb_, static_cast<uint32_t>(codes.size()) - 1,
                                             &op.inputs, &op.outputs, op.kind, op.options));
    for (const int32_t i : op.inputs)
      if (i >= 0) used[static_cast<size_t>(i)] = true;
    for (const int32_t i : op.outputs) produced[static_cast<size_t>(i)] = true;
  }
  std::vector<int32_t> inputs, outputs;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!produced[i] && !is_constant_[i]) inputs.push_back(static_cast<int32_t>(i));
    if (produced[i] && !used[i]) outputs.push_back(static_cast<int32_t>(i));
  }
  const auto graph = CreateSubGraphDirect(fbb_, &tensors_, &inputs, &outputs, &operators, "main");
  const std::vector<flatbuffers::Offset<SubGraph>> graphs = {graph};
  buffers_.insert(buffers_.begin(), CreateBuffer(fbb_));
  FinishModelBuffer(fbb_, CreateModelDirect(fbb_, 3, &codes, &graphs, "test", &buffers_));
  const Blob file =
      Blob::copy_of(std::span<const uint8_t>(fbb_.GetBufferPointer(), fbb_.GetSize()));
  DiagnosticSink sink;
  return ModelFile::open(file, sink);
}

}  // namespace ec::testing
