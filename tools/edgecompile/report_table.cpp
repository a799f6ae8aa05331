#include "report_table.h"

#include <fmt/format.h>

#include "support/strings.h"

namespace ec::cli {

using report::Field;
using report::Unit;

std::string cell_text(const Field&, bool value) { return value ? "yes" : "no"; }

std::string cell_text(const Field& field, int64_t value) {
  if (field.unit == Unit::Bytes) return format_bytes(value);
  return field.unit == Unit::Count ? format_count(value) : std::to_string(value);
}

std::string cell_text(const Field& field, double value) {
  switch (field.unit) {
    case Unit::Milliseconds:
      return format_ms(value);
    case Unit::Share:
      return fmt::format("{:.2f} %", value * 100);
    case Unit::Percent:
      return fmt::format("{:.1f} %", value);
    case Unit::Decibels:
      return fmt::format("{:.1f} dB", value);
    case Unit::PerSecond:
      return fmt::format("{:.1f}/s", value);
    default:
      return fmt::format("{:.5g}", value);
  }
}

std::string cell_text(const Field&, std::string_view value) { return printable(value); }

std::string cell_text(const Field&, const std::vector<int64_t>& sizes) {
  return sizes.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

std::string cell_text(const Field&, const std::vector<std::pair<std::string, int64_t>>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

}  // namespace ec::cli
