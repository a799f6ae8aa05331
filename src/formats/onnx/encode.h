// Encoding of ONNX messages. Graph, node and attribute messages are built as strings; the bytes of
// large tensors are referred to, not copied, and written straight from where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/model.h"
#include "support/blob.h"

namespace ec::onnx {

// A message in pieces: owned text and referred bytes, in order.
class Pieces {
 public:
  struct Piece {
    std::string text;
    Blob blob;  // written after the text
  };
  void append(std::string text);
  void append(Blob blob);
  void append(Pieces other);
  size_t size() const { return size_; }
  const std::vector<Piece>& list() const { return list_; }
  std::string joined() const;

 private:
  std::vector<Piece> list_;
  size_t size_ = 0;
};

struct TensorSource {
  std::string_view name;
  DataType type = DataType::Undefined;
  std::span<const int64_t> dims;
  Blob data;  // as stored in raw_data: 4- and 2-bit types packed
  // External storage instead of raw_data, when location is not empty.
  std::string_view location;
  uint64_t offset = 0;
};
Pieces encode_tensor(const TensorSource& tensor);

// Elements of 4- and 2-bit types, one per byte in memory, packed for storage.
Blob pack_elements(const Blob& elements, int bits);

// One attribute of a node, encoded.
class AttributeList {
 public:
  void add(std::string_view name, int64_t value);
  void add(std::string_view name, float value);
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::span<const int64_t> values);
  void add(std::string_view name, std::span<const float> values);
  void add(std::string_view name, std::span<const std::string> values);
  void add_tensor(std::string_view name, const TensorSource& tensor);
  void add_graph(std::string_view name, std::string_view graph);
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

struct NodeSource {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;
  AttributeList attributes;
};
std::string encode_node(const NodeSource& node);

struct ValueSource {
  std::string_view name;
  DataType type = DataType::Undefined;
  bool has_shape = false;
  std::vector<Dimension> dims;
};
std::string encode_value(const ValueSource& value);

struct GraphSource {
  std::string_view name;
  std::vector<std::string> nodes;            // encoded
  std::vector<Pieces> initializers;          // encoded
  std::vector<std::string> inputs, outputs;  // encoded values
};
Pieces encode_graph(GraphSource graph);

struct ModelSource {
  int64_t ir_version = 0;
  std::string_view producer_name, producer_version, domain, doc;
  int64_t model_version = 0;
  std::vector<OpsetId> opsets;
  std::vector<StringEntry> metadata;
};
Pieces encode_model(const ModelSource& model, Pieces graph);

}  // namespace ec::onnx
