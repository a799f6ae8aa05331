// Terminal manners: colour and progress on a terminal only, results whole or an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ec::cli {

bool color_on_stderr();
// Columns of the standard output where it is a terminal, else what COLUMNS says; 0: no limit.
size_t terminal_width();

// A diagnostic as text for the terminal.
std::string diagnostic_text(const Diagnostic& diagnostic, bool color);

// Writes all of the text to the standard output; a full disk or a closed file is an error.
Status write_stdout(std::string_view text);

// Columns aligned by their widest cell; cells that start with a digit go to the right. Texts that
// do not fit the terminal continue on the next line.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  std::string text(std::string_view indent = "  ") const;
  // In at most so many columns, where that is possible; 0: as wide as the cells are.
  std::string text_in(std::string_view indent, size_t most) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Shows the progress of long tasks on the error stream, where that is a terminal.
void show_progress();
// The line itself: what, bar, counts, rate and time left.
std::string progress_text(std::string_view what, int64_t done, int64_t total, int64_t since_start,
                          double seconds);

std::string format_count(int64_t value);  // 1234567 -> "1,234,567"
std::string format_bytes(int64_t bytes);  // "3.4 MB"
std::string format_ms(double milliseconds);

}  // namespace ec::cli
