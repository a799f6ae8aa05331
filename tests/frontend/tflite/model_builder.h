// Builds small TFLite files in memory for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/tflite/builtin_operator.h"
#include "formats/tflite/schema.h"
#include "support/blob.h"

namespace ec::tflite::testing {

using Fbb = flatbuffers::FlatBufferBuilder;

struct TensorSpec {
  std::string name;
  std::vector<int32_t> shape;
  TensorType type = TensorType::FLOAT32;
  std::vector<uint8_t> data = {};
  std::vector<float> scales = {};
  std::vector<int64_t> zero_points = {};
  int32_t axis = 0;
  std::vector<int32_t> signature = {};  // sizes with -1 for open ones
  bool is_variable = false;
  int32_t buffer = -1;  // -1: a buffer of its own when there is data
  std::function<flatbuffers::Offset<SparsityParameters>(Fbb&)> sparsity = {};
};

struct OperatorSpec {
  BuiltinOperator code;
  std::vector<int32_t> inputs, outputs;
  BuiltinOptions options_type = BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(Fbb&)> options = {};
  std::string custom_code = {};
  std::vector<uint8_t> custom_options = {};
  int32_t version = 1;
};

struct SubgraphSpec {
  std::vector<TensorSpec> tensors;
  std::vector<int32_t> inputs, outputs;
  std::vector<OperatorSpec> operators;
};

struct SignatureSpec {
  std::string key;
  std::vector<std::pair<std::string, uint32_t>> inputs, outputs;
  uint32_t subgraph = 0;
};

struct ModelSpec {
  std::vector<SubgraphSpec> subgraphs;
  std::vector<SignatureSpec> signatures = {};
  uint32_t version = 3;
  // Buffers that lie behind the flatbuffer: {offset, size}; numbered after all others.
  std::vector<std::pair<uint64_t, uint64_t>> outside = {};
};

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

// Options from a generated Create function's result.
template <class F>
std::function<flatbuffers::Offset<void>(Fbb&)> options(F create) {
  return [create](Fbb& fbb) { return create(fbb).Union(); };
}

class Assembler {
 public:
  Blob build(const ModelSpec& spec) {
    buffers_.push_back(CreateBuffer(fbb_));
    std::vector<flatbuffers::Offset<SubGraph>> graphs;
    for (const SubgraphSpec& graph : spec.subgraphs) graphs.push_back(subgraph(graph));
    for (const auto& [offset, size] : spec.outside)
      buffers_.push_back(CreateBuffer(fbb_, 0, offset, size));
    std::vector<flatbuffers::Offset<SignatureDef>> signatures;
    for (const SignatureSpec& s : spec.signatures)
      signatures.push_back(CreateSignatureDef(fbb_, maps(s.inputs), maps(s.outputs),
                                              fbb_.CreateString(s.key), s.subgraph));
    const auto model =
        CreateModel(fbb_, spec.version, fbb_.CreateVector(codes_), fbb_.CreateVector(graphs),
                    fbb_.CreateString("test"), fbb_.CreateVector(buffers_), 0, 0,
                    signatures.empty() ? 0 : fbb_.CreateVector(signatures));
    FinishModelBuffer(fbb_, model);
    return Blob::copy_of(std::span<const uint8_t>(fbb_.GetBufferPointer(), fbb_.GetSize()));
  }

 private:
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<TensorMap>>> maps(
      const std::vector<std::pair<std::string, uint32_t>>& names) {
    std::vector<flatbuffers::Offset<TensorMap>> list;
    for (const auto& [name, index] : names)
      list.push_back(CreateTensorMap(fbb_, fbb_.CreateString(name), index));
    return fbb_.CreateVector(list);
  }

  flatbuffers::Offset<SubGraph> subgraph(const SubgraphSpec& spec) {
    std::vector<flatbuffers::Offset<Tensor>> tensors;
    for (const TensorSpec& tensor : spec.tensors) tensors.push_back(make(tensor));
    std::vector<flatbuffers::Offset<Operator>> operators;
    for (const OperatorSpec& op : spec.operators) operators.push_back(make(op));
    return CreateSubGraph(fbb_, fbb_.CreateVector(tensors), fbb_.CreateVector(spec.inputs),
                          fbb_.CreateVector(spec.outputs), fbb_.CreateVector(operators),
                          fbb_.CreateString("main"));
  }

  flatbuffers::Offset<Tensor> make(const TensorSpec& spec) {
    auto buffer = static_cast<uint32_t>(std::max(spec.buffer, 0));
    if (!spec.data.empty()) {
      buffer = static_cast<uint32_t>(buffers_.size());
      fbb_.ForceVectorAlignment(spec.data.size(), 1, 16);
      buffers_.push_back(CreateBuffer(fbb_, fbb_.CreateVector(spec.data)));
    }
    flatbuffers::Offset<QuantizationParameters> quant;
    if (!spec.scales.empty())
      quant = CreateQuantizationParameters(fbb_, 0, 0, fbb_.CreateVector(spec.scales),
                                           fbb_.CreateVector(spec.zero_points),
                                           QuantizationDetails::NONE, 0, spec.axis);
    const auto sparsity =
        spec.sparsity ? spec.sparsity(fbb_) : flatbuffers::Offset<SparsityParameters>();
    return CreateTensor(fbb_, fbb_.CreateVector(spec.shape), spec.type, buffer,
                        fbb_.CreateString(spec.name), quant, spec.is_variable, sparsity,
                        spec.signature.empty() ? 0 : fbb_.CreateVector(spec.signature));
  }

  flatbuffers::Offset<Operator> make(const OperatorSpec& spec) {
    const auto number = static_cast<int32_t>(spec.code);
    codes_.push_back(CreateOperatorCode(
        fbb_, static_cast<int8_t>(std::min(number, 127)),
        spec.custom_code.empty() ? 0 : fbb_.CreateString(spec.custom_code), spec.version, number));
    const auto options = spec.options ? spec.options(fbb_) : flatbuffers::Offset<void>();
    return CreateOperator(fbb_, static_cast<uint32_t>(codes_.size() - 1),
                          fbb_.CreateVector(spec.inputs), fbb_.CreateVector(spec.outputs),
                          spec.options_type, options,
                          spec.custom_options.empty() ? 0 : fbb_.CreateVector(spec.custom_options));
  }

  Fbb fbb_;
  std::vector<flatbuffers::Offset<Buffer>> buffers_;
  std::vector<flatbuffers::Offset<OperatorCode>> codes_;
};

inline Blob build(const ModelSpec& spec) { return Assembler().build(spec); }

// y = relu(x + c): the smallest model that uses most of the format.
inline ModelSpec add_model() {
  SubgraphSpec graph;
  graph.tensors = {{.name = "x", .shape = {1, 4}, .signature = {-1, 4}},
                   {.name = "c", .shape = {4}, .data = bytes_of<float>({1, -2, 3, -4})},
                   {.name = "y", .shape = {1, 4}}};
  graph.inputs = {0};
  graph.outputs = {2};
  graph.operators = {
      {BuiltinOperator::ADD, {0, 1}, {2}, BuiltinOptions::AddOptions, options([](Fbb& fbb) {
         return CreateAddOptions(fbb, ActivationFunctionType::RELU);
       })}};
  return {.subgraphs = {graph}};
}

}  // namespace ec::tflite::testing
