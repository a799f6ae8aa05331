// A TFLite file that was checked: every offset by FlatBuffers' verifier, then every index, size and
// reference by the rules of the format. Readers may follow whatever it holds without checks of
// their own; weights stay where they stand in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tflite/operators.h"
#include "formats/tflite/schema.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec::tflite {

class ModelFile {
 public:
  // All problems go to the sink; the error is the first of them.
  static Result<ModelFile> open(const Blob& file, DiagnosticSink& sink);
  // By the identifier at byte 4.
  static bool looks_like(std::span<const std::byte> head);

  const Model& model() const { return *model_; }
  const Blob& file() const { return file_; }
  size_t num_subgraphs() const { return model_->subgraphs()->size(); }
  const SubGraph& subgraph(size_t i) const {
    return *model_->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  const OperatorCode& code_of(const Operator& op) const {
    return *model_->operator_codes()->Get(op.opcode_index());
  }
  // The bytes of a tensor, in the flatbuffer or behind it; nothing: the tensor is no constant.
  std::optional<Blob> constant_data(const Tensor& tensor) const;
  Blob buffer_data(uint32_t index) const;
  Blob custom_options(const Operator& op) const;
  // Subgraphs that an operator runs: then and else, condition and body, initialiser.
  std::vector<uint32_t> called_subgraphs(const Operator& op) const;

 private:
  ModelFile(Blob file, const Model* model) : file_(std::move(file)), model_(model) {}
  Blob slice(const flatbuffers::Vector<uint8_t>& bytes) const;

  Blob file_;
  const Model* model_;
};

// Bits of one element; 0: no fixed size (strings, resources) or no known type.
int element_bits(TensorType type);
std::string_view tensor_type_name(TensorType type);  // "int8"
// Name of a tensor for messages: "'conv/Relu'", or "tensor 7".
std::string tensor_label(const SubGraph& graph, int32_t index);
inline std::string_view text_of(const flatbuffers::String* text) {
  return text != nullptr ? text->string_view() : std::string_view{};
}
// Null vectors are empty ones.
template <class T>
size_t size_of(const flatbuffers::Vector<T>* list) {
  return list != nullptr ? list->size() : 0;
}

// The rules beyond the flatbuffer's own; reports every fault (check.cpp).
void check_model(const ModelFile& file, DiagnosticSink& sink);

}  // namespace ec::tflite
