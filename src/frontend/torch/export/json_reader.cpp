#include "frontend/torch/export/json_reader.h"

#include <cmath>

#include "support/strings.h"

namespace ec::torch::exported {
namespace {

// Symbol('s77', positive=True, integer=True) is s77; Mul(Integer(2), Symbol('s78', ...)) 2*s78.
void simplify(SizeDef& size) {
  std::string_view text = size.expression;
  constexpr std::string_view kMul = "Mul(Integer(";
  if (text.starts_with(kMul)) {
    text.remove_prefix(kMul.size());
    const size_t close = text.find("), ");
    const auto factor =
        close == std::string_view::npos ? std::nullopt : parse_int(text.substr(0, close));
    if (!factor || *factor < 1) return;
    size.factor = *factor;
    text.remove_prefix(close + 3);
  }
  constexpr std::string_view kSymbol = "Symbol('";
  if (!text.starts_with(kSymbol)) return;
  text.remove_prefix(kSymbol.size());
  const size_t quote = text.find('\'');
  if (quote == std::string_view::npos || text.find("Symbol(", quote) != std::string_view::npos)
    return;
  size.symbol = std::string(text.substr(0, quote));
  size.expression = (size.factor > 1 ? std::to_string(size.factor) + "*" : "") + size.symbol;
}

}  // namespace

Status JsonReader::status() const {
  if (error_.empty()) return {};
  return Error(Code::CorruptFile, "the exported program cannot be read: " + error_);
}

const json& JsonReader::at(const json& object, const char* key) {
  static const json kNull;
  if (object.is_object())
    if (const auto found = object.find(key); found != object.end()) return *found;
  fault(std::string("'") + key + "' is missing");
  return kNull;
}

const json& JsonReader::list(const json& value) {
  static const json kEmpty = json::array();
  if (value.is_array()) return value;
  fault("a list is expected");
  return kEmpty;
}

std::string JsonReader::text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  fault("a text is expected");
  return {};
}

int64_t JsonReader::integer(const json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
    fault("a number is too large");
  else if (value.is_number_integer())
    return value.get<int64_t>();
  else
    fault("an integer is expected");
  return 0;
}

double JsonReader::number(const json& value) {
  if (value.is_number()) return value.get<double>();
  // Infinity and NaN are texts.
  if (value.is_string())
    if (const auto parsed = parse_double(to_lower(value.get<std::string>()))) return *parsed;
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  fault("a number is expected");
  return 0;
}

std::string JsonReader::optional_text(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : std::string();
}

std::optional<int64_t> JsonReader::optional_integer(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer())
    return std::nullopt;
  return integer(object[key]);
}

std::pair<std::string, const json*> JsonReader::alternative(const json& value) {
  if (value.is_object() && value.size() == 1) {
    const auto item = value.begin();
    return {item.key(), &*item};
  }
  fault("a union has exactly one key");
  static const json kNull;
  return {"as_none", &kNull};
}

SizeDef JsonReader::size(const json& value) {
  SizeDef result;
  const auto [kind, content] = alternative(value);
  if (kind == "as_int") {
    result.value = integer(*content);
    if (*result.value < 0) fault("a size is negative");
    return result;
  }
  result.expression = optional_text(*content, "expr_str");
  simplify(result);
  return result;
}

TensorMeta JsonReader::tensor_meta(const json& value) {
  TensorMeta meta;
  meta.dtype = integer(at(value, "dtype"));
  for (const json& item : list(at(value, "sizes"))) meta.sizes.push_back(size(item));
  for (const json& item : list(at(value, "strides"))) meta.strides.push_back(size(item));
  meta.offset.value = 0;
  if (value.contains("storage_offset") && value["storage_offset"].is_object())
    meta.offset = size(value["storage_offset"]);
  return meta;
}

}  // namespace ec::torch::exported
