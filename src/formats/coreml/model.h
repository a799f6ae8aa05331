// A Core ML model in memory: the interface and the ML Program, between bytes and graphs. The reader
// and the writer share it. Field numbers: fields.h.
//
// Values hold their elements as the format's raw bytes: little endian, types below 8 bits packed
// from the least significant bit. Large values lie in the weight file (`WeightRef`).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/blob.h"

namespace ec::coreml {

// As in MIL.proto.
enum class DataType : int32_t {
  Unused = 0,
  Bool = 1,
  String = 2,
  Float16 = 10,
  Float32 = 11,
  Float64 = 12,
  BFloat16 = 13,
  Int8 = 21,
  Int16 = 22,
  Int32 = 23,
  Int64 = 24,
  Int4 = 25,
  UInt8 = 31,
  UInt16 = 32,
  UInt32 = 33,
  UInt64 = 34,
  UInt4 = 35,
  UInt2 = 36,
  UInt1 = 37,
  UInt6 = 38,
  UInt3 = 39,
  Float8E4M3FN = 40,
  Float8E5M2 = 41,
};
int bits_of(DataType type);               // 0: no numbers
std::string_view name_of(DataType type);  // "fp16", as `cast` and messages spell it
std::optional<DataType> type_named(std::string_view name);

constexpr int64_t kUnknownSize = -1;

struct ValueType {
  enum class Kind : uint8_t { Tensor, List, Tuple, Dictionary, State };
  Kind kind = Kind::Tensor;
  // Tensor. Sizes that are not known are kUnknownSize; a rank that is not known is `variadic`.
  DataType element = DataType::Unused;
  std::vector<int64_t> dims;
  bool variadic = false;
  // List: its elements' type. Tuple: one each. Dictionary: key and value. State: the tensor's.
  std::vector<ValueType> nested;
  int64_t list_length = kUnknownSize;

  static ValueType tensor(DataType element, std::vector<int64_t> dims = {});
  bool operator==(const ValueType&) const = default;
};

// Where a value lies in the weight file: the offset of its metadata.
struct WeightRef {
  std::string file = "@model_path/weights/weight.bin";
  uint64_t offset = 0;
};

struct Value {
  ValueType type;
  Blob data;                         // elements of numbers and bools (one byte each)
  std::vector<std::string> strings;  // elements of string tensors
  std::vector<Value> items;          // of lists and tuples; of dictionaries: key, value, key, ...
  std::optional<WeightRef> weight;   // set: the elements are there. Readers fill `data` from it
};

// An operand: the name of a value, or a literal.
struct Binding {
  std::string name;
  std::shared_ptr<const Value> literal;  // set: `name` is empty
};

struct NamedType {
  std::string name;
  ValueType type;
};

struct Block;

struct Operation {
  std::string type;                                                  // "conv"
  std::vector<std::pair<std::string, std::vector<Binding>>> inputs;  // by parameter, sorted by name
  std::vector<NamedType> outputs;
  std::vector<Block> blocks;
  std::vector<std::pair<std::string, Value>> attributes;  // sorted by name; "name" is one of them

  const std::vector<Binding>* input(std::string_view parameter) const;  // null: absent
  const Value* attribute(std::string_view name) const;                  // null: absent
};

struct Block {
  std::vector<NamedType> inputs;  // of nested blocks only
  std::vector<std::string> outputs;
  std::vector<Operation> operations;  // producers first
};

struct Function {
  std::vector<NamedType> inputs;
  std::string opset;  // "CoreML7"
  Block block;        // the specialisation for `opset`
};

struct Program {
  int64_t version = 1;
  std::map<std::string, Function> functions;  // the default one is "main"
};

// --- the interface that applications see --------------------------------------------------------

enum class ArrayType : int32_t {
  Float16 = 65552,
  Float32 = 65568,
  Double = 65600,
  Int8 = 131080,
  Int32 = 131104,
};
enum class ColorSpace : int32_t { Grayscale = 10, Rgb = 20, Bgr = 30, GrayscaleFloat16 = 40 };

struct SizeRange {
  int64_t lower = 0, upper = -1;  // upper below 0: no bound
};

struct Feature {
  enum class Kind : uint8_t {
    None,
    Int64,
    Double,
    String,
    Image,
    MultiArray,
    Dictionary,
    Sequence,
    State
  };
  std::string name, description;
  Kind kind = Kind::None;
  bool optional = false;
  // MultiArray and State
  ArrayType array = ArrayType::Float32;
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> enumerated_shapes;
  std::vector<SizeRange> shape_range;
  std::optional<double> default_value;
  // Image
  int64_t width = 0, height = 0;
  ColorSpace color = ColorSpace::Rgb;
  std::vector<std::pair<int64_t, int64_t>> enumerated_sizes;  // width, height
  std::optional<std::pair<SizeRange, SizeRange>> size_range;  // width, height
  // Dictionary
  bool string_keys = true;
};

struct Interface {
  std::vector<Feature> inputs, outputs, states;
  std::string predicted_feature, predicted_probabilities;  // of classifiers
};

struct Metadata {
  std::string description, version, author, license;
  std::map<std::string, std::string> user_defined;
};

struct Model {
  int32_t specification_version = 0;
  Interface interface;                         // of the default function
  std::map<std::string, Interface> functions;  // of each, where there are several
  std::string default_function;                // empty: "main"
  Metadata metadata;
  std::optional<Program> program;
  std::string other_kind;  // set where the model is no ML Program: "neuralNetwork"
};

}  // namespace ec::coreml
