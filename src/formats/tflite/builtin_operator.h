// The builtin operators of TFLite by number and name. The schema keeps the number a plain integer:
// files may hold codes that no enumeration knows.
#pragma once

#include <cstdint>
#include <string_view>

namespace ec::tflite {

enum class BuiltinOperator : int32_t {
#define EC_TFLITE_OPERATOR(number, name, version, options) name = number,
#include "formats/tflite/operators.def"
#undef EC_TFLITE_OPERATOR
};

// "CONV_2D"; empty for codes without a name.
constexpr std::string_view builtin_name(int32_t number) {
  switch (number) {
#define EC_TFLITE_OPERATOR(value, name, version, options) \
  case value:                                             \
    return #name;
#include "formats/tflite/operators.def"
#undef EC_TFLITE_OPERATOR
    default:
      return {};
  }
}
constexpr std::string_view builtin_name(BuiltinOperator op) {
  return builtin_name(static_cast<int32_t>(op));
}

}  // namespace ec::tflite
