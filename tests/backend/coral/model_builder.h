// Small TFLite files for tests: tensors and operators in order, inputs and outputs found by use.
#pragma once

#include <string>
#include <vector>

#include "formats/tflite/model_file.h"

namespace ec::testing {

class ModelBuilder {
 public:
  using Type = tflite::TensorType;

  // A tensor that is computed or given; returns its index.
  int32_t tensor(std::string name, std::vector<int32_t> shape, Type type = Type::INT8);
  // A constant of zeros, or of the given bytes.
  int32_t constant(std::string name, std::vector<int32_t> shape, Type type = Type::INT8,
                   std::vector<uint8_t> bytes = {});
  int32_t integers(std::string name, std::vector<int32_t> values);

  template <class Options>
  size_t op(tflite::BuiltinOperator code, std::vector<int32_t> inputs, std::vector<int32_t> outputs,
            tflite::BuiltinOptions kind, flatbuffers::Offset<Options> options) {
    return add(code, std::move(inputs), std::move(outputs), kind, options.Union());
  }
  size_t op(tflite::BuiltinOperator code, std::vector<int32_t> inputs,
            std::vector<int32_t> outputs) {
    return add(code, std::move(inputs), std::move(outputs), tflite::BuiltinOptions::NONE, 0);
  }
  size_t custom(std::string code, std::vector<int32_t> inputs, std::vector<int32_t> outputs);

  flatbuffers::FlatBufferBuilder& fbb() { return fbb_; }
  // The checked file.
  Result<tflite::ModelFile> finish();

 private:
  struct Op {
    tflite::BuiltinOperator code;
    std::string custom_code;
    std::vector<int32_t> inputs, outputs;
    tflite::BuiltinOptions kind;
    flatbuffers::Offset<void> options;
  };
  size_t add(tflite::BuiltinOperator code, std::vector<int32_t> inputs,
             std::vector<int32_t> outputs, tflite::BuiltinOptions kind,
             flatbuffers::Offset<void> options);

  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
  std::vector<bool> is_constant_;
  std::vector<Op> ops_;
};

}  // namespace ec::testing
