#include "formats/tflite/operators.h"

#include "support/strings.h"

namespace ec::tflite {
namespace {

constexpr OperatorInfo kOperators[] = {
#define EC_TFLITE_OPERATOR(number, name, version, options) \
  {BuiltinOperator::name, #name, version, BuiltinOptions::options},
#include "formats/tflite/operators.def"
#undef EC_TFLITE_OPERATOR
};

}  // namespace

std::span<const OperatorInfo> all_operators() { return kOperators; }

const OperatorInfo* find_operator(int32_t code) {
  for (const OperatorInfo& info : kOperators)
    if (static_cast<int32_t>(info.code) == code) return &info;
  return nullptr;
}

const OperatorInfo* find_operator(std::string_view name) {
  for (const OperatorInfo& info : kOperators)
    if (info.name == name) return &info;
  return nullptr;
}

std::string operator_name(const OperatorCode& code) {
  const int32_t number = builtin_code(code);
  if (number == static_cast<int32_t>(BuiltinOperator::CUSTOM) && code.custom_code() != nullptr)
    return printable(code.custom_code()->string_view());
  const OperatorInfo* info = find_operator(number);
  return info != nullptr ? std::string(info->name) : "operator " + std::to_string(number);
}

}  // namespace ec::tflite
