#include "options/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "options/value.h"
#include "support/strings.h"

namespace ec {
namespace {

bool in_range(const OptionDef& def, double value) {
  return value >= def.least && value <= def.most;  // false for NaN
}

// Whole limits in full: 1000000, not 1e+06.
std::string limit_text(double limit) {
  const bool whole = limit == std::floor(limit) && std::abs(limit) < 1e15;
  return whole ? fmt::format("{:.0f}", limit) : format_double(limit);
}

std::string range_text(const OptionDef& def) {
  const bool low = std::isfinite(def.least), high = std::isfinite(def.most);
  if (low && high)
    return fmt::format(" from {} to {}", limit_text(def.least), limit_text(def.most));
  if (low) return fmt::format(" of at least {}", limit_text(def.least));
  if (high) return fmt::format(" of at most {}", limit_text(def.most));
  return {};
}

std::string_view noun(const OptionDef& def) {
  switch (def.type) {
    case OptionType::Number:
      return "a number";
    case OptionType::Numbers:
      return "numbers";
    default:
      return "a whole number";
  }
}

Status check_choice(const OptionDef& def, std::string& text) {
  const std::string wanted = to_lower(text);
  for (const std::string_view choice : split(def.choices, '|')) {
    if (to_lower(choice) != wanted) continue;
    text = choice;
    return {};
  }
  return Error(Code::Usage, fmt::format("--{} cannot be '{}'", def.name, printable(text)))
      .hint(fmt::format("known: {}", choice_names(def)));
}

}  // namespace

Error out_of_range(const OptionDef& def, std::string_view text) {
  return Error(Code::Usage,
               fmt::format("--{} needs {}{}{}{}, not '{}'", def.name, noun(def), range_text(def),
                           def.unit.empty() ? "" : " in ", def.unit, printable(text)));
}

Status check_range(const OptionDef& def, OptionValue& value) {
  if (def.type == OptionType::Choice) return check_choice(def, *std::get_if<std::string>(&value));
  if (const auto* number = std::get_if<double>(&value); number && !in_range(def, *number))
    return out_of_range(def, format_double(*number));
  if (const auto* number = std::get_if<int64_t>(&value);
      number && !in_range(def, static_cast<double>(*number)))
    return out_of_range(def, std::to_string(*number));
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    for (const double number : *numbers)
      if (!in_range(def, number) || !std::isfinite(number))
        return out_of_range(def, value_text(def, value));
  return {};
}

std::string choice_names(const OptionDef& def) {
  std::string names;
  for (const std::string_view choice : split(def.choices, '|'))
    names += fmt::format("{}{}", names.empty() ? "" : ", ", choice);
  return names;
}

std::string allowed_values(const OptionDef& def) {
  if (!def.choices.empty()) return choice_names(def);
  const bool low = std::isfinite(def.least), high = std::isfinite(def.most);
  if (!low && !high) return {};
  const std::string least = limit_text(def.least), most = limit_text(def.most);
  const std::string range = !high  ? fmt::format("from {}", least)
                            : !low ? fmt::format("up to {}", most)
                                   : fmt::format("{} to {}", least, most);
  return def.unit.empty() ? range : fmt::format("{} {}", range, def.unit);
}

}  // namespace ec
