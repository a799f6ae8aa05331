// ONNX messages as plain structs over the bytes of the file. Nothing is copied: texts and nested
// messages are views into the file, which must outlive the structs. Messages that may be large or
// nested (tensors, attribute values, subgraphs, types) stay encoded until asked for, so that memory
// follows what is in use and recursion is in the hands of the reader, who counts levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ec::onnx {

using Bytes = std::string_view;  // an encoded message, or raw data

// No real tensor comes near; keeps lists of dimensions small.
inline constexpr size_t kMaxRank = 64;

// TensorProto.DataType
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
};

// AttributeProto.AttributeType
enum class AttributeType : int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

struct StringEntry {
  std::string_view key, value;
};

struct OpsetId {
  std::string_view domain;
  int64_t version = 0;
};

struct Attribute {
  std::string_view name;
  std::string_view reference;  // ref_attr_name: the value is an attribute of the enclosing function
  std::string_view text;       // of a String
  Bytes message;               // the whole attribute, for values of the other kinds
  int64_t integer = 0;
  float real = 0;
  AttributeType type = AttributeType::Undefined;
};

struct Node {
  std::string_view name, op_type, domain, overload;
  std::span<const std::string_view> inputs, outputs;  // "" stands for an absent one
  std::span<const Attribute> attributes;
};

// Nodes with the lists that they point into. Moving keeps the views right, copying would not.
struct NodeList {
  std::vector<Node> nodes;
  std::vector<std::string_view> names;
  std::vector<Attribute> attributes;

  NodeList() = default;
  NodeList(NodeList&&) = default;
  NodeList& operator=(NodeList&&) = default;
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;
};

struct NamedTensor {
  std::string_view name;
  Bytes message;
};

struct ValueInfo {
  std::string_view name;
  Bytes type;  // empty: not given
};

struct Graph {
  std::string_view name, doc;
  NodeList list;
  std::vector<NamedTensor> initializers;
  std::vector<NamedTensor> sparse_initializers;  // named by their values
  std::vector<ValueInfo> inputs, outputs, value_info;
};

struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes;  // without a default
  std::vector<Attribute> default_attributes;
  std::vector<OpsetId> opsets;
  NodeList list;
};

struct Model {
  int64_t ir_version = 0;
  std::string_view producer_name, producer_version, domain, doc;
  int64_t model_version = 0;
  std::optional<Bytes> graph;
  std::vector<OpsetId> opsets;
  std::vector<StringEntry> metadata;
  std::vector<Bytes> functions;
};

struct Tensor {
  std::string_view name;
  std::vector<int64_t> dims;
  DataType data_type = DataType::Undefined;
  std::optional<Bytes> raw_data;
  bool external = false;
  std::vector<StringEntry> external_data;
  Bytes message;  // for the typed data fields
};

struct SparseTensor {
  Tensor values, indices;
  std::vector<int64_t> dims;
};

struct Dimension {
  std::optional<int64_t> value;
  std::string_view param;
};

struct Type {
  enum class Kind : uint8_t { None, Tensor, Sequence, Map, SparseTensor, Optional, Opaque };
  Kind kind = Kind::None;
  DataType element = DataType::Undefined;  // of a Tensor
  bool has_shape = false;
  std::vector<Dimension> dims;
  Bytes inner;  // of a Sequence or Optional: the element's type
};

}  // namespace ec::onnx
