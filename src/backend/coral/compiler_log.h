// What Google's edgetpu_compiler says about a model, read from its log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/coral/partition.h"

namespace ec::coral {

struct LoggedRow {
  std::string op;
  int64_t count = 0;
  std::string status;
};

struct LoggedModel {
  std::string input, output;
  // Bytes as far as two decimals of the printed unit tell.
  int64_t on_chip_bytes = 0, on_chip_free_bytes = 0, streamed_bytes = 0;
  int64_t subgraphs = 0, operations = 0;
  std::vector<LoggedRow> rows;
};

struct CompilerLog {
  std::string version;
  bool succeeded = false;
  std::string failure;  // the compiler's own words
  std::vector<LoggedModel> models;
};

CompilerLog parse_log(std::string_view text);
// "6.89MiB" to bytes.
std::optional<int64_t> parse_size(std::string_view text);

// Where the compiler and the prediction disagree, one line per operator and status.
struct Difference {
  std::string op, status;
  int64_t predicted = 0, compiled = 0;
};
std::vector<Difference> compare(const Partition& predicted, const LoggedModel& compiled);

}  // namespace ec::coral
