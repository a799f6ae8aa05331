// The contents of a TFLite file as they are collected: buffers without repetition, operator codes,
// tensors and operators of each graph; and the file made of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/tflite/builtin_operator.h"
#include "formats/tflite/schema.h"
#include "ir/type.h"
#include "support/blob.h"
#include "support/result.h"
#include "writer/tflite/file_memory.h"

namespace ec::tflite {

struct TensorRecord {
  std::string name;
  ec::TensorType type;  // open dimensions are written as 1 and in the signature as -1
  uint32_t buffer = 0;  // 0: not constant
  bool is_variable = false;
  bool is_resource = false;  // a variable's handle; the element type is ignored
  bool is_complex = false;   // elements are pairs of the type; the pair is no dimension here
};

struct Options {
  BuiltinOptions type = BuiltinOptions::NONE;
  flatbuffers::Offset<void> offset = 0;
};

struct OperatorRecord {
  uint32_t code = 0;
  std::vector<int32_t> inputs, outputs;  // -1: absent
  std::vector<int32_t> intermediates;
  Options options;
  std::vector<uint8_t> custom_options;
  std::vector<uint8_t> mutating_variable_inputs;
  std::string source;  // name of the operation in the source model; empty: it has none
};

struct GraphRecord {
  std::string name;
  std::vector<TensorRecord> tensors;
  std::vector<int32_t> inputs, outputs;
  std::vector<OperatorRecord> operators;
};

struct SignatureEntry {
  std::string name;
  int32_t tensor = 0;
};

class FileBuilder {
 public:
  FileBuilder() : buffers_(1) {}  // index 0 is the empty one, by convention

  flatbuffers::FlatBufferBuilder& fbb() { return fbb_; }
  // The index of a buffer with these bytes.
  uint32_t add_buffer(Blob bytes);
  uint32_t add_code(BuiltinOperator op, int32_t version, const std::string& custom = {});
  // Number of a new graph; 0 is the main one.
  uint32_t add_graph(std::string name);
  GraphRecord& graph(uint32_t index) { return graphs_[index]; }
  const std::vector<GraphRecord>& graphs() const { return graphs_; }
  BuiltinOperator operator_of(const OperatorRecord& op) const { return codes_[op.code].op; }
  const std::string& custom_of(const OperatorRecord& op) const { return codes_[op.code].custom; }

  // Whether pools take the activation behind them along.
  bool fuse_pool_activations() const { return fuse_pool_activations_; }
  void set_fuse_pool_activations(bool fuse) { fuse_pool_activations_ = fuse; }
  void set_description(std::string text) { description_ = std::move(text); }
  void add_metadata(std::string name, std::string_view content);
  void set_signature(std::vector<SignatureEntry> inputs, std::vector<SignatureEntry> outputs);
  uint64_t constant_bytes() const { return constant_bytes_; }
  // An upper bound of the size of the file.
  uint64_t size_bound() const;

  Blob finish();

 private:
  struct Code {
    BuiltinOperator op;
    int32_t version;
    std::string custom;
  };
  // Numbers tensors and buffers in the order in which operators use them and makes names unique,
  // so that the file does not depend on the order in which they were asked for.
  class BufferOrder;
  void put_in_order();
  void put_in_order(GraphRecord& graph, BufferOrder& buffers);
  flatbuffers::Offset<Tensor> encode_tensor(const TensorRecord& tensor);
  flatbuffers::Offset<Operator> encode_operator(const OperatorRecord& op);
  flatbuffers::Offset<SubGraph> encode_graph(const GraphRecord& graph);
  flatbuffers::Offset<SignatureDef> encode_signature();
  flatbuffers::Offset<Buffer> encode_buffer(const Blob& bytes);

  FileMemory fbb_;
  std::vector<Blob> buffers_;
  std::unordered_multimap<size_t, uint32_t> by_hash_;  // looked up, never iterated
  uint64_t constant_bytes_ = 0;
  bool fuse_pool_activations_ = true;
  std::vector<Code> codes_;
  std::vector<GraphRecord> graphs_;
  std::string description_;
  std::vector<std::pair<std::string, uint32_t>> metadata_;
  std::vector<SignatureEntry> signature_inputs_, signature_outputs_;
};

// Nothing for types that files have no code for.
std::optional<TensorType> tensor_type(DType dtype);

}  // namespace ec::tflite
