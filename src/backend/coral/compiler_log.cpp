#include "backend/coral/compiler_log.h"

#include <charconv>
#include <cmath>
#include <map>

#include "support/strings.h"

namespace ec::coral {
namespace {

std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

// The text behind "Label: " when the line starts with the label.
std::optional<std::string_view> after(std::string_view line, std::string_view label) {
  if (!line.starts_with(label)) return std::nullopt;
  line.remove_prefix(label.size());
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "CONV_2D                        15         Mapped to Edge TPU"
std::optional<LoggedRow> parse_row(std::string_view line) {
  const size_t op_end = line.find(' ');
  if (op_end == std::string_view::npos || op_end == 0) return std::nullopt;
  std::string_view rest = line.substr(op_end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const size_t count_end = rest.find(' ');
  if (count_end == std::string_view::npos) return std::nullopt;
  const auto count = parse_count(rest.substr(0, count_end));
  if (!count) return std::nullopt;
  std::string_view status = rest.substr(count_end);
  status.remove_prefix(std::min(status.find_first_not_of(' '), status.size()));
  if (status.empty()) return std::nullopt;
  return LoggedRow{std::string(line.substr(0, op_end)), *count, std::string(status)};
}

// Takes the line into the model's figures; false: it is none of them.
bool parse_figure(std::string_view line, LoggedModel& model) {
  const auto size = [&](std::string_view label, int64_t& field) {
    const auto text = after(line, label);
    if (text) field = parse_size(*text).value_or(0);
    return text.has_value();
  };
  const auto count = [&](std::string_view label, int64_t& field) {
    const auto text = after(line, label);
    if (text) field = parse_count(*text).value_or(0);
    return text.has_value();
  };
  if (const auto text = after(line, "Output model:")) {
    model.output = *text;
    return true;
  }
  return size("On-chip memory used for caching model parameters:", model.on_chip_bytes) ||
         size("On-chip memory remaining for caching model parameters:", model.on_chip_free_bytes) ||
         size("Off-chip memory used for streaming uncached model parameters:",
              model.streamed_bytes) ||
         count("Number of Edge TPU subgraphs:", model.subgraphs) ||
         count("Total number of operations:", model.operations);
}

}  // namespace

std::optional<int64_t> parse_size(std::string_view text) {
  const size_t unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == std::string_view::npos || unit_at == 0) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + unit_at, number);
  if (error != std::errc{} || end != text.data() + unit_at || number > 1e6) return std::nullopt;
  const std::string_view unit = text.substr(unit_at);
  const double factor = unit == "B"     ? 1.0
                        : unit == "KiB" ? 1024.0
                        : unit == "MiB" ? 1024.0 * 1024
                        : unit == "GiB" ? 1024.0 * 1024 * 1024
                                        : 0.0;
  if (factor == 0.0) return std::nullopt;
  return static_cast<int64_t>(std::llround(number * factor));
}

CompilerLog parse_log(std::string_view text) {
  CompilerLog log;
  bool in_table = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (const auto version = after(line, "Edge TPU Compiler version")) {
      log.version = *version;
    } else if (line.starts_with("Model compiled successfully") ||
               line.starts_with("Models compiled successfully")) {
      log.succeeded = true;
    } else if (line.starts_with("Internal compiler error") ||
               line.starts_with("Compilation failed") || line.starts_with("Invalid model") ||
               line.starts_with("ERROR:")) {
      if (log.failure.empty()) log.failure = line;
    } else if (const auto input = after(line, "Input model:")) {
      log.models.push_back({});
      log.models.back().input = *input;
      in_table = false;
    } else if (line.starts_with("Operator ") && line.ends_with("Status")) {
      in_table = true;
    } else if (!log.models.empty()) {
      if (parse_figure(line, log.models.back())) continue;
      if (auto row = in_table ? parse_row(line) : std::nullopt)
        log.models.back().rows.push_back(std::move(*row));
    }
  }
  return log;
}

std::vector<Difference> compare(const Partition& predicted, const LoggedModel& compiled) {
  std::map<std::pair<std::string, std::string>, Difference> all;
  const auto entry = [&](std::string op, std::string status) -> Difference& {
    Difference& d = all[{op, status}];
    d.op = std::move(op);
    d.status = std::move(status);
    return d;
  };
  for (const PlacedOperator& op : predicted.operators)
    ++entry(op.op, std::string(status_text(op.verdict.status))).predicted;
  for (const LoggedRow& row : compiled.rows) entry(row.op, row.status).compiled += row.count;
  std::vector<Difference> differences;
  for (auto& [key, difference] : all)
    if (difference.predicted != difference.compiled) differences.push_back(std::move(difference));
  return differences;
}

}  // namespace ec::coral
