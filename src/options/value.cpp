#include "options/value.h"

#include <fmt/format.h>

#include <cmath>

#include "options/value_check.h"
#include "support/strings.h"

namespace ec {
namespace {

// The alternative of OptionValue that an option of the type has.
size_t alternative_of(OptionType type) {
  switch (type) {
    case OptionType::Flag:
      return OptionValue(false).index();
    case OptionType::Level:
    case OptionType::Integer:
      return OptionValue(int64_t{0}).index();
    case OptionType::Number:
      return OptionValue(0.0).index();
    case OptionType::Text:
    case OptionType::Choice:
    case OptionType::File:
    case OptionType::Directory:
      return OptionValue(std::string()).index();
    case OptionType::Numbers:
      return OptionValue(std::vector<double>()).index();
    case OptionType::Texts:
    case OptionType::Items:
      return OptionValue(std::vector<std::string>()).index();
    case OptionType::Shapes:
      return OptionValue(ShapesByName()).index();
    case OptionType::Sizes:
      return OptionValue(SizesByName()).index();
    case OptionType::NamedTexts:
      return OptionValue(TextsByName()).index();
  }
  return 0;
}

std::string_view needed(OptionType type) {
  switch (type) {
    case OptionType::Flag:
      return "true or false";
    case OptionType::Level:
    case OptionType::Integer:
      return "a whole number";
    case OptionType::Number:
      return "a number";
    case OptionType::Text:
    case OptionType::Choice:
      return "a text";
    case OptionType::File:
    case OptionType::Directory:
      return "a path";
    case OptionType::Numbers:
      return "numbers";
    case OptionType::Texts:
    case OptionType::Items:
      return "a list of texts";
    case OptionType::Shapes:
      return "lists of sizes by input";
    case OptionType::Sizes:
      return "sizes by name";
    case OptionType::NamedTexts:
      return "values by name";
  }
  return "another value";
}

bool holds_text(OptionType type) {
  return alternative_of(type) == alternative_of(OptionType::Text);
}

std::string sizes_text(const std::vector<int64_t>& sizes) {
  std::string text;
  for (const int64_t size : sizes)
    text += fmt::format("{}{}", text.empty() ? "" : "x", size < 0 ? "?" : std::to_string(size));
  return text;
}

struct ValueText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return format_double(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<double>& values) const {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : ",") + format_double(value);
    return text;
  }
  std::string operator()(const std::vector<std::string>& values) const { return join(values, ","); }
  std::string operator()(const ShapesByName& shapes) const {
    std::string text;
    for (const auto& [name, sizes] : shapes)
      text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", name, name.empty() ? "" : ":",
                          sizes_text(sizes));
    return text;
  }
  std::string operator()(const SizesByName& sizes) const {
    std::string text;
    for (const auto& [name, size] : sizes)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, size);
    return text;
  }
  std::string operator()(const TextsByName& texts) const {
    std::string text;
    for (const auto& [name, value] : texts)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    return text;
  }
};

// The value in the option's own type; std::monostate where it does not fit.
OptionValue converted(const OptionDef& def, const OptionValue& value) {
  const auto* whole = std::get_if<int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  if (def.type == OptionType::Number && whole) return static_cast<double>(*whole);
  const bool wants_whole = def.type == OptionType::Integer || def.type == OptionType::Level;
  if (wants_whole && number && *number == std::floor(*number) && std::abs(*number) < 1e15)
    return static_cast<int64_t>(*number);
  if (def.type == OptionType::Numbers && whole)
    return std::vector<double>{static_cast<double>(*whole)};
  if (def.type == OptionType::Numbers && number) return std::vector<double>{*number};
  if (def.type == OptionType::Level && std::holds_alternative<bool>(value))
    return int64_t{std::get<bool>(value)};
  if (holds_text(def.type) && (whole || number)) return value_text(def, value);
  return {};
}

}  // namespace

std::string value_text(const OptionDef&, const OptionValue& value) {
  return std::visit(ValueText(), value);
}

Result<OptionValue> checked_value(const OptionDef& def, const OptionValue& value) {
  const size_t own = alternative_of(def.type);
  if (const auto* text = std::get_if<std::string>(&value); text && value.index() != own)
    return parse_value(def, *text);
  OptionValue checked = value.index() == own ? value : converted(def, value);
  if (checked.index() != own)
    return Error(Code::Usage, fmt::format("--{} needs {}, not '{}'", def.name, needed(def.type),
                                          printable(value_text(def, value))))
        .hint(std::string(def.help));
  if (Status status = check_range(def, checked); !status.ok())
    return std::move(status).error().hint(std::string(def.help));
  return checked;
}

void merge_value(OptionValue& into, OptionValue more) {
  if (into.index() != more.index()) {
    into = std::move(more);
  } else if (auto* level = std::get_if<int64_t>(&into)) {
    *level += std::get<int64_t>(more);
  } else if (auto* texts = std::get_if<std::vector<std::string>>(&into)) {
    for (std::string& text : std::get<std::vector<std::string>>(more))
      texts->push_back(std::move(text));
  } else if (auto* shapes = std::get_if<ShapesByName>(&into)) {
    for (auto& [name, sizes] : std::get<ShapesByName>(more)) (*shapes)[name] = sizes;
  } else if (auto* sizes = std::get_if<SizesByName>(&into)) {
    for (auto& [name, size] : std::get<SizesByName>(more)) (*sizes)[name] = size;
  } else if (auto* named = std::get_if<TextsByName>(&into)) {
    for (auto& [name, text] : std::get<TextsByName>(more)) (*named)[name] = text;
  } else {
    into = std::move(more);
  }
}

}  // namespace ec
