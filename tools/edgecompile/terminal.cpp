#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/strings.h"

namespace ec::cli {
namespace {

bool color_wanted(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color && *no_color) return false;
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && !(term && std::string_view(term) == "dumb");
}

// "12", "-3.5", "1,234", "0.2 ms", "4.0 MB", "50.0 %".
bool is_number(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.,-");
  if (end == 0) return false;
  const std::string_view unit = end == std::string_view::npos ? "" : text.substr(end);
  constexpr std::string_view kUnits[] = {"", " ms", " us", " B", " kB", " MB", " GB", " TB", " %"};
  return std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits);
}

// Columns of a UTF-8 text.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

bool color_on_stderr() { return color_wanted(STDERR_FILENO); }

std::string diagnostic_text(const Diagnostic& diagnostic, bool color) {
  std::string text = format_diagnostic(diagnostic);
  if (color) {
    const std::string word(severity_name(diagnostic.severity));
    const char* tint = diagnostic.severity == Severity::Error     ? "\033[1;31m"
                       : diagnostic.severity == Severity::Warning ? "\033[1;33m"
                                                                  : "\033[1;36m";
    const std::string label = word + " " + code_id(diagnostic.code) + ":";
    if (const size_t at = text.find(label); at != std::string::npos)
      text.replace(at, label.size(), tint + label + "\033[0m");
  }
  return text + "\n";
}

Status write_stdout(std::string_view text) {
  const bool failed =
      std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0;
  if (failed)
    return Error(Code::OutputUnwritable,
                 fmt::format("cannot write to the standard output: {}", std::strerror(errno)))
        .hint("free some space, or send the output elsewhere");
  return {};
}

std::string TextTable::text(std::string_view indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  // A column is numeric when its cells are.
  std::vector<bool> right(widths.size(), rows_.size() > 1);
  for (size_t r = 1; r < rows_.size(); ++r)
    for (size_t c = 0; c < rows_[r].size(); ++c)
      if (!rows_[r][c].empty() && !is_number(rows_[r][c])) right[c] = false;
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width_of(row[c]), ' ');
      line += right[c] ? padding + row[c] : row[c] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string format_count(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
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

}  // namespace ec::cli
