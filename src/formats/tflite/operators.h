// What is known of the builtin operators of TFLite; the list is operators.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/tflite/builtin_operator.h"
#include "formats/tflite/schema.h"

namespace ec::tflite {

struct OperatorInfo {
  BuiltinOperator code;
  std::string_view name;   // "CONV_2D"
  int32_t newest_version;  // that LiteRT runs; 0: none
  BuiltinOptions options;  // NONE: has none, or none that is read here
};

std::span<const OperatorInfo> all_operators();
const OperatorInfo* find_operator(int32_t code);  // null: not in the list
const OperatorInfo* find_operator(std::string_view name);

// The number of an operator code: files made before number 127 have only the first field.
inline int32_t builtin_code(const OperatorCode& code) {
  return code.builtin_code() > code.deprecated_builtin_code() ? code.builtin_code()
                                                              : code.deprecated_builtin_code();
}
// "CONV_2D", the name of a custom op, or "operator 300".
std::string operator_name(const OperatorCode& code);

}  // namespace ec::tflite
