#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
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

// Takes from the widest columns of text until the table fits; some columns stay readable.
void narrow(std::vector<size_t>& widths, const std::vector<bool>& numeric, size_t most) {
  constexpr size_t kLeast = 12;
  size_t total = 2 * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  while (total > most) {
    size_t widest = widths.size();
    for (size_t c = 0; c < widths.size(); ++c)
      if (!numeric[c] && widths[c] > kLeast &&
          (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    if (widest == widths.size()) return;
    --widths[widest];
    --total;
  }
}

// The first `columns` columns of a text as a number of bytes.
size_t bytes_of(std::string_view text, size_t columns) {
  size_t at = 0;
  while (at < text.size() && columns > 0) {
    ++at;
    while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
    --columns;
  }
  return at;
}

// Lines of at most `width` columns, broken at spaces where there are some.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (width_of(text) > width) {
    const size_t most = bytes_of(text, width);
    size_t at = text.substr(0, most + 1).rfind(' ');
    const bool at_space = at != std::string_view::npos && at > 0;
    if (!at_space) at = most;
    lines.emplace_back(text.substr(0, at));
    text.remove_prefix(at + (at_space ? 1 : 0));
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace

size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0)
    return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const auto given = columns != nullptr ? parse_int(columns) : std::nullopt;
  return given && *given > 0 ? static_cast<size_t>(*given) : 0;
}

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
  return text_in(indent, terminal_width());
}

std::string TextTable::text_in(std::string_view indent, size_t most) const {
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
  if (most > 0) narrow(widths, right, most > indent.size() ? most - indent.size() : 1);
  std::string out;
  for (const auto& row : rows_) {
    std::vector<std::vector<std::string>> cells;
    size_t lines = 1;
    for (size_t c = 0; c < row.size(); ++c) {
      cells.push_back(wrapped(row[c], widths[c]));
      lines = std::max(lines, cells.back().size());
    }
    for (size_t l = 0; l < lines; ++l) {
      std::string line(indent);
      for (size_t c = 0; c < cells.size(); ++c) {
        const std::string cell = l < cells[c].size() ? cells[c][l] : std::string();
        const std::string padding(widths[c] - std::min(widths[c], width_of(cell)), ' ');
        line += right[c] ? padding + cell : cell + padding;
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
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
