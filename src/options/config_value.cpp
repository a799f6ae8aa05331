// A value of a configuration file in the type of the option.
#include <fmt/format.h>

#include "options/config_node.h"
#include "options/value.h"
#include "support/strings.h"

namespace ec {
namespace {

Result<std::string> scalar_text(const OptionDef& def, const ConfigNode& node) {
  if (const auto* text = std::get_if<std::string>(&node.value)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&node.value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&node.value)) return format_double(*number);
  return node.error(fmt::format("'{}' needs a text or a number", def.name));
}

// One text of the command line: "1,3,224,224" for a list.
Result<std::string> joined_text(const OptionDef& def, const ConfigNode& node) {
  if (node.list() == nullptr) return scalar_text(def, node);
  std::string text;
  for (const ConfigNode& element : *node.list()) {
    EC_TRY(const std::string one, scalar_text(def, element));
    text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

Error at(const ConfigNode& node, Error&& error) {
  if (!node.position.empty())
    error.diagnostic().message = fmt::format("{}: {}", node.position, error.message());
  return std::move(error);
}

Result<OptionValue> parsed(const OptionDef& def, const ConfigNode& node, const std::string& text) {
  Result<OptionValue> value = parse_value(def, text);
  if (!value.ok()) return at(node, std::move(value).error());
  return value;
}

// { NAME = VALUE } is NAME:VALUE or NAME=VALUE of the command line.
Result<OptionValue> table_value(const OptionDef& def, const ConfigNode& node) {
  const bool named = def.type == OptionType::Shapes || def.type == OptionType::Sizes ||
                     def.type == OptionType::NamedTexts || def.type == OptionType::Items;
  if (!named) return node.error(fmt::format("'{}' takes no table", def.name));
  const char separator = def.type == OptionType::Shapes ? ':' : '=';
  OptionValue all;
  for (const auto& [key, value] : *node.table()) {
    EC_TRY(const std::string text, joined_text(def, value));
    EC_TRY(OptionValue one, parsed(def, value, fmt::format("{}{}{}", key, separator, text)));
    merge_value(all, std::move(one));
  }
  return all;
}

// A list repeats the option.
Result<OptionValue> list_value(const OptionDef& def, const ConfigNode& node) {
  if (def.type == OptionType::Numbers) {
    EC_TRY(const std::string text, joined_text(def, node));
    return parsed(def, node, text);
  }
  OptionValue all;
  for (const ConfigNode& element : *node.list()) {
    EC_TRY(const std::string text, scalar_text(def, element));
    EC_TRY(OptionValue one, parsed(def, element, text));
    merge_value(all, std::move(one));
  }
  return all;
}

}  // namespace

Error ConfigNode::error(std::string text) const {
  return Error(Code::Usage, position.empty() ? text : fmt::format("{}: {}", position, text));
}

Result<OptionValue> config_value(const OptionDef& def, const ConfigNode& node) {
  if (node.table() != nullptr) return table_value(def, node);
  if (node.list() != nullptr && def.takes_value()) return list_value(def, node);
  if (def.type == OptionType::Level && std::holds_alternative<int64_t>(node.value))
    return OptionValue(std::get<int64_t>(node.value));
  if (!def.takes_value()) {
    const bool* flag = std::get_if<bool>(&node.value);
    if (flag == nullptr) return node.error(fmt::format("'{}' needs true or false", def.name));
    if (def.type == OptionType::Level) return OptionValue(int64_t{*flag});
    return OptionValue(*flag);
  }
  EC_TRY(const std::string text, scalar_text(def, node));
  return parsed(def, node, text);
}

}  // namespace ec
