#include "option_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli.h"
#include "options/value.h"
#include "support/strings.h"

namespace ec::cli {

std::string group_title(const CatalogEntry& entry) {
  if (entry.targets.empty()) return std::string(entry.group);
  return fmt::format("Target {}", fmt::join(entry.targets, ", "));
}

std::vector<std::string> option_groups() {
  std::vector<std::string> groups;
  for (const CatalogEntry& entry : catalog().entries())
    if (std::find(groups.begin(), groups.end(), group_title(entry)) == groups.end())
      groups.push_back(group_title(entry));
  return groups;
}

std::string option_label(const OptionDef& option) {
  std::string label = option.short_name ? fmt::format("-{}, ", option.short_name) : "    ";
  label += fmt::format("--{}", option.name);
  if (!option.argument.empty()) label += fmt::format(" {}", option.argument);
  return label;
}

std::string help_with_alias(const OptionDef& option) {
  if (option.alias.empty()) return std::string(option.help);
  return fmt::format("{}; also --{}", option.help, option.alias);
}

std::string help_with_default(const OptionDef& option) {
  if (option.default_value.empty()) return help_with_alias(option);
  return fmt::format("{} (default: {})", help_with_alias(option), option.default_value);
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_option(const OptionDef& option) {
  const std::string fallback =
      option.default_value.empty() ? "" : fmt::format("`{}`", option.default_value);
  return fmt::format("| `{}` | {} | {} |", trim(markdown_cell(option_label(option))),
                     markdown_cell(allowed_values(option)), fallback);
}

}  // namespace ec::cli
