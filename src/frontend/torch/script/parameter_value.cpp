#include "frontend/torch/script/parameter_value.h"

#include <fmt/format.h>

#include "support/strings.h"

namespace ec::torch::script {
namespace {

std::optional<TorchValue> value_of_type(const std::string& type, const InputValue& given,
                                        int depth) {
  const auto inside = [&](std::string_view prefix) {
    return type.substr(prefix.size(), type.size() - prefix.size() - 1);
  };
  if (depth > 8) return std::nullopt;
  if (type.starts_with("Optional[")) {
    if (std::holds_alternative<std::monostate>(given.value)) return TorchValue();
    return value_of_type(inside("Optional["), given, depth + 1);
  }
  if (type.starts_with("List[")) {
    const auto* list = std::get_if<InputValue::List>(&given.value);
    if (list == nullptr) return std::nullopt;
    std::vector<TorchValue> items;
    for (const InputValue& item : *list) {
      auto value = value_of_type(inside("List["), item, depth + 1);
      if (!value) return std::nullopt;
      items.push_back(std::move(*value));
    }
    return TorchValue::list(std::move(items));
  }
  const auto* integer = std::get_if<int64_t>(&given.value);
  if (type == "NoneType" && std::holds_alternative<std::monostate>(given.value))
    return TorchValue();
  if (const auto* flag = std::get_if<bool>(&given.value); type == "bool" && flag != nullptr)
    return TorchValue(*flag);
  if ((type == "int" || type == "number") && integer != nullptr) return TorchValue(*integer);
  if (const auto* real = std::get_if<double>(&given.value);
      (type == "float" || type == "number") && real != nullptr)
    return TorchValue(*real);
  if (type == "float" && integer != nullptr) return TorchValue(static_cast<double>(*integer));
  if (const auto* text = std::get_if<std::string>(&given.value); type == "str" && text != nullptr)
    return TorchValue(*text);
  return std::nullopt;
}

}  // namespace

std::optional<TorchValue> parameter_value(const std::string& type, const InputValue& given) {
  return value_of_type(type, given, 0);
}

std::string value_option(const std::string& name, const std::string& type) {
  const char* example = type == "float"                 ? "0.5"
                        : type == "bool"                ? "true"
                        : type == "str"                 ? "text"
                        : type.starts_with("List[")     ? "[1,2]"
                        : type.starts_with("Optional[") ? "none"
                                                        : "16000";
  return fmt::format("give its value: --input-value {}={}", printable(name), example);
}

}  // namespace ec::torch::script
