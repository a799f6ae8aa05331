// Values that the user gives for inputs that are no data: `--input-value sr=16000`. The model is
// imported with them, so that they are constants of the graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

struct InputValue {
  using List = std::vector<InputValue>;
  // std::monostate: None.
  std::variant<std::monostate, bool, int64_t, double, std::string, List> value;
  bool operator==(const InputValue&) const = default;
};
using InputValues = std::map<std::string, InputValue>;

// The value that a text stands for: true, false, none, 16000, 0.5, [1, 2], "text", 'text'; anything
// else is a text, too. Fails for a list or a quoted text without an end.
Result<InputValue> parse_input_value(std::string_view text);
// The text that parses back to the value.
std::string input_value_text(const InputValue& value);

// The elements of a tensor of this type: one value for every element, or a list of as many values
// as there are elements. Open dimensions of the type take the list's length, or are 1. Fails when
// the value does not fit. `name` is the input's, for messages.
Result<Tensor*> add_input_constant(Graph& graph, const std::string& name, const TensorType& type,
                                   const InputValue& value);

// Where a front end records the values that it used itself, in the graph's metadata.
inline constexpr std::string_view kInputValueKey = "input_value.";

// Inputs of the graph that have a value become constants. Reports names that the model lacks;
// those that the front end recorded were used already.
void bind_input_values(Graph& graph, const InputValues& values, DiagnosticSink& sink);

}  // namespace ec
