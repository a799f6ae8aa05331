#include "support/units.h"

#include <fmt/format.h>

#include <string_view>

namespace ec {

std::string format_count(int64_t value) {
  const std::string digits = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string format_bytes(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::string_view kUnits[] = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1000.0;
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_ms(double milliseconds) {
  if (milliseconds < 0.1) return fmt::format("{:.2f} us", milliseconds * 1e3);
  return fmt::format("{:.{}f} ms", milliseconds, milliseconds < 10 ? 3 : 1);
}

}  // namespace ec
