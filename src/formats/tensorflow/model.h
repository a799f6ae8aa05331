// TensorFlow's messages as plain structs over the bytes of the file: GraphDef, its functions, and
// what a SavedModel has around them. Nothing is copied: texts and nested messages are views into
// the file, which must outlive the structs. Attribute values and tensors stay encoded until asked
// for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ec::tf {

using Bytes = std::string_view;  // an encoded message, or raw data

// No real tensor comes near; keeps lists of dimensions small.
inline constexpr size_t kMaxRank = 64;

// DataType of types.proto; references (TF 1) are these + 100.
enum class DataType : int32_t {
  Invalid = 0,
  Float = 1,
  Double = 2,
  Int32 = 3,
  Uint8 = 4,
  Int16 = 5,
  Int8 = 6,
  String = 7,
  Complex64 = 8,
  Int64 = 9,
  Bool = 10,
  Qint8 = 11,
  Quint8 = 12,
  Qint32 = 13,
  Bfloat16 = 14,
  Uint16 = 17,
  Complex128 = 18,
  Half = 19,
  Resource = 20,
  Variant = 21,
  Uint32 = 22,
  Uint64 = 23,
  Float8E5M2 = 24,
  Float8E4M3FN = 25,
  Int4 = 29,
  Uint4 = 30,
};

struct Attribute {
  std::string_view name;
  Bytes value;  // AttrValue
};

struct Node {
  std::string_view name, op;
  // "node", "node:1" in graphs; "argument", "node:output:0" in functions; "^node" orders only.
  std::span<const std::string_view> inputs;
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

struct Argument {
  std::string_view name;
  DataType type = DataType::Invalid;
};

struct NamedValue {
  std::string_view name, value;
};

struct Function {
  std::string_view name;
  std::vector<Argument> inputs, outputs;
  std::vector<NamedValue> results;                // output argument, the value inside that it is
  std::vector<std::string_view> control_results;  // nodes that run for their effect
  std::vector<Attribute> attributes;
  NodeList list;
};

struct GraphDef {
  NodeList list;
  std::vector<Bytes> functions;  // FunctionDef
};

// A size of -1 is open. No shape: not even the rank is known.
using PartialShape = std::optional<std::vector<int64_t>>;

struct TensorInfo {
  std::string_view key;   // the signature's name for it
  std::string_view name;  // "node:0"
  DataType type = DataType::Invalid;
  PartialShape shape;
};

struct Signature {
  std::string_view key, method;
  std::vector<TensorInfo> inputs, outputs;  // by key, in order
};

struct AssetFile {
  std::string_view tensor, file;
};

struct MetaGraph {
  std::vector<std::string_view> tags;
  std::string_view version;  // of TensorFlow
  Bytes graph;               // GraphDef
  std::string_view restore_op;
  std::vector<Signature> signatures;  // by key, in order
  std::vector<AssetFile> assets;
  Bytes objects;  // SavedObjectGraph; empty: TF 1
};

// An object of a SavedModel, or of a checkpoint. Kinds beyond these hold no tensors.
struct SavedObject {
  enum class Kind : uint8_t { Other, Variable, Constant, Asset, Resource };
  struct Child {
    std::string_view name;
    int64_t node;
  };
  Kind kind = Kind::Other;
  std::vector<Child> children;
  std::string_view name;            // of a variable, in the graph
  std::string_view checkpoint_key;  // in a checkpoint's graph: where the value is
};

struct ObjectGraph {
  std::vector<SavedObject> nodes;
  // Function name -> the objects that it captures, as node numbers, in the order of its last
  // inputs.
  std::map<std::string_view, std::vector<int64_t>> captures;
};

// A TensorProto. Fewer values than elements: the last one fills the rest.
struct Tensor {
  DataType type = DataType::Invalid;
  std::vector<int64_t> dims;
  Bytes content;  // elements as in memory; empty: typed fields in the message
  Bytes message;
};

}  // namespace ec::tf
