// Operator signatures as PyTorch writes them:
// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/torch/value.h"
#include "support/result.h"

namespace ec::torch {

struct ArgType {
  enum class Base : uint8_t {
    Tensor,
    Int,     // also ScalarType, Layout, MemoryFormat, SymInt
    Float,   // also SymFloat
    Bool,    // also SymBool
    Scalar,  // any number
    Str,
    Any,  // devices, generators, packed parameters: the conversion looks itself
  };
  Base base = Base::Any;
  bool optional = false;
  bool list = false;
  bool optional_items = false;  // Tensor?[]
  // int[2]: one number stands for all. 0 for lists of any length and for no lists.
  int64_t list_size = 0;
};

struct SchemaArg {
  std::string name;
  ArgType type;
  std::optional<TorchValue> fallback;
  bool keyword_only = false;
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; "" for the default
  std::vector<SchemaArg> args;
  size_t num_results = 0;

  size_t num_positional() const;
  const SchemaArg* find(std::string_view arg) const;
};

// Errors: BadText with the position.
Result<Schema> parse_schema(std::string_view text);

}  // namespace ec::torch
