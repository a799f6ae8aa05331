// The syntax tree of the source that torch.jit.save writes. Types are expressions, too: only few
// places look at them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ec::torch::script {

struct Expr {
  enum class Kind : uint8_t {
    Int,
    Float,
    Complex,
    String,
    None,
    True,
    False,
    Ellipsis,
    Name,       // text
    Attribute,  // children[0] . text
    Subscript,  // children[0] [ children[1] ]
    Call,       // children[0] ( children[1..], keywords name the last ones )
    List,
    Tuple,
    Dict,  // key, value, key, value, ...
  };

  Kind kind = Kind::None;
  uint32_t offset = 0;  // byte in the file
  std::string text;     // Name, Attribute, String
  int64_t integer = 0;
  double real = 0;  // Float; imaginary part of Complex
  std::vector<Expr> children;
  std::vector<std::string> keywords;  // of the last children of a Call

  const Expr& callee() const { return children[0]; }
  size_t num_positional() const { return children.size() - 1 - keywords.size(); }
};

// "torch.nn.functional" of nested Attributes over a Name, else empty.
std::string dotted(const Expr& expr);
// The operator that stands before the brackets of a call: "torch.add" is aten::add,
// "ops.quantized.add" quantized::add; empty for anything else.
std::string called_operator(const Expr& callee);
// A type as it stands in the source: "List[Tensor]".
std::string type_text(const Expr& type);

struct Function;

struct Statement {
  enum class Kind : uint8_t {
    Assign,       // targets = values; one value may be unpacked
    AssignField,  // values[0] (an Attribute) = values[1]
    Expression,   // values[0]
    Return,       // values[0], if any
    Pass,
    If,     // values[0]; body, otherwise
    For,    // targets[0] in range(values[0])
    While,  // values[0]
    With,   // values[0], targets: the name after `as`
    Define,
  };

  Kind kind = Kind::Pass;
  uint32_t offset = 0;
  std::vector<std::string> targets;
  bool unpack = false;  // "a, b, = t", and "a, = t"
  std::vector<Expr> values;
  std::vector<Statement> body, otherwise;
  std::shared_ptr<Function> function;  // of Define
};

struct Parameter {
  std::string name;
  std::optional<Expr> type, default_value;
};

struct Function {
  std::string name;
  uint32_t offset = 0;
  std::vector<Parameter> parameters;
  std::optional<Expr> returns;
  std::vector<Statement> body;
};

struct Field {
  std::string name;
  Expr type;
  std::optional<Expr> value;  // attr : Final[int] = 2
};

struct Class {
  std::string name;
  std::string base;  // "Module", "NamedTuple", "Enum" or empty
  std::vector<Field> fields;
  std::map<std::string, Expr, std::less<>> constants;  // NAME = value: enumerators, __parameters__
  std::map<std::string, Function, std::less<>> methods;

  const Function* method(std::string_view wanted) const {
    const auto found = methods.find(wanted);
    return found == methods.end() ? nullptr : &found->second;
  }
};

// One file of code.
struct SourceFile {
  std::string record;  // "code/__torch__/torch/nn/modules/conv.py"
  std::map<std::string, Class, std::less<>> classes;
  std::map<std::string, Function, std::less<>> functions;
};

}  // namespace ec::torch::script
