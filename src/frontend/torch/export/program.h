// An exported program (torch.export) as its JSON has it, decoded and checked: graph, interface,
// sizes. Names are looked up later; nothing here refers to weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "frontend/torch/value.h"
#include "support/result.h"

namespace ec::torch::exported {

struct GraphDef;
struct Argument;

// The name of a value that an earlier node or an input gives.
struct Named {
  std::string name;
};
struct ArgumentList {
  std::vector<Argument> items;
};
// A kind of argument that models of tensors do not need (script objects, complex numbers).
struct Foreign {
  std::string kind;
};

struct Argument {
  std::variant<TorchValue, Named, ArgumentList, std::shared_ptr<const GraphDef>, Foreign> value;
};

struct NodeInput {
  std::string name;  // of the signature; may be empty
  Argument value;
  bool keyword = false;
};

struct NodeDef {
  std::string target;  // "torch.ops.aten.relu.default"
  std::string name;
  std::string module_path;  // "layer1.0.conv2"
  std::vector<NodeInput> inputs;
  std::vector<Argument> outputs;
};

// A size: known, or an expression of symbols.
struct SizeDef {
  std::optional<int64_t> value;
  std::string expression;  // "s77", "2*s78"; text of sympy where it is more than that
  std::string symbol;      // of an expression factor * symbol
  int64_t factor = 1;
};

// Reads the printed expression of a size into symbol and factor where it is that simple.
void simplify(SizeDef& size);

struct TensorMeta {
  int64_t dtype = 0;  // torch.export's code, which differs from c10::ScalarType
  std::vector<SizeDef> sizes, strides;
  SizeDef offset;
};

struct GraphDef {
  std::vector<Argument> inputs, outputs;
  std::vector<NodeDef> nodes;
  std::unordered_map<std::string, TensorMeta> tensors;  // looked up only
};

struct InputSpec {
  enum class Kind : uint8_t { Parameter, Buffer, Constant, User, Fixed, Other };
  Kind kind = Kind::Other;
  std::string target;  // name of the weight
};

struct OutputSpec {
  bool user = true;    // else a buffer's or an input's new contents
  std::string target;  // the buffer
};

// How the results nest: leaves in order.
struct TreeSpec {
  std::string type;               // "builtins.dict"; empty for a leaf
  std::vector<std::string> keys;  // of dicts and NamedTuples
  std::vector<TreeSpec> children;
};

struct Range {
  std::optional<int64_t> low, high;
};

struct Program {
  GraphDef graph;
  std::vector<InputSpec> inputs;    // one per input of the graph
  std::vector<OutputSpec> outputs;  // one per output
  std::optional<TreeSpec> results;
  std::map<std::string, Range> ranges;  // of symbols and of expressions such as "2*s78"
  std::string torch_version, dialect;
  bool positional_only = false;  // arguments have no names (the EDGE dialect)
};

// Errors: CorruptFile for what breaks the format, UnsupportedFormat for other major versions.
Result<Program> decode_program(std::string_view json, size_t file_size);

// One record of a weights' list: which bytes, and how they are viewed.
struct WeightRecord {
  std::string path;
  bool pickled = false;
  TensorMeta meta;
};
Result<std::map<std::string, WeightRecord>> decode_weights(std::string_view json, size_t file_size);

// c10::ScalarType of torch.export's own codes; empty for those that it lacks.
std::optional<int64_t> scalar_type_of_export(int64_t number);
// A number that is no c10::ScalarType, for the message of whoever needs the type.
inline int64_t unknown_scalar_type(int64_t number) {
  return 1000 + (number < 0 || number > 1'000'000 ? 1'000'000 : number);
}

}  // namespace ec::torch::exported
