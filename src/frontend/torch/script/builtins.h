// The built-in functions of TorchScript on numbers, texts and containers. Operators on tensors are
// those of the operator table; where a name is both (add, len, slice), the arguments tell.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "frontend/torch/aten/operators.h"
#include "frontend/torch/script/objects.h"

namespace ec::torch::script {

class Interpreter;

struct BuiltinCall {
  Interpreter& interpreter;
  std::span<const TorchValue> args;
  const NamedValues& kwargs;

  const TorchValue* arg(size_t i) const { return i < args.size() ? &args[i] : nullptr; }
  // Every argument is a number (bool, int, float) that is known.
  bool all_numbers() const;
};

// Nothing when the function is not for these arguments: then the operator table is asked.
class [[nodiscard]] BuiltinResult : public Result<std::optional<TorchValue>> {
 public:
  BuiltinResult(TorchValue value) : Result(std::optional(std::move(value))) {}           // NOLINT
  BuiltinResult(std::nullopt_t nothing) : Result(std::optional<TorchValue>(nothing)) {}  // NOLINT
  BuiltinResult(Error error) : Result(std::move(error)) {}                               // NOLINT
};
using Builtin = BuiltinResult (*)(const BuiltinCall& call);

struct NamedBuiltin {
  std::string_view name;  // "aten::append"
  Builtin function;
};

// By qualified name; null when there is none.
Builtin find_builtin(std::string_view name);

// The families, each in its own file.
std::span<const NamedBuiltin> number_builtins();
std::span<const NamedBuiltin> container_builtins();
std::span<const NamedBuiltin> joining_builtins();
std::span<const NamedBuiltin> text_builtins();
std::span<const NamedBuiltin> environment_builtins();

// add and mul of numbers; of lists and texts they join.
BuiltinResult add_numbers(const BuiltinCall& call);
BuiltinResult multiply_numbers(const BuiltinCall& call);

// A number that is known. Requires is_number().
double real_of(const TorchValue& value);
bool all_numbers(const std::vector<TorchValue>& items);
// The list that an argument is, or null.
TorchList* list_of(const BuiltinCall& call, size_t i = 0);
TorchValue new_list(const BuiltinCall& call, std::vector<TorchValue> items);

// The value at a key of a list, tuple, dict or text. DataDependent when the key is not known.
Result<TorchValue> item_of(const TorchValue& object, const TorchValue& key);
// Equal as Python has it; nothing when tensors or unknown numbers are involved.
std::optional<bool> same_value(const TorchValue& a, const TorchValue& b);
// The text that Python's str() gives.
std::string text_of_value(const TorchValue& value);

}  // namespace ec::torch::script
