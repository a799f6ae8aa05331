// Where the archive's code comes from: the author's file and line, from the *.debug_pkl records.
#pragma once

#include <optional>
#include <string>

#include "formats/torch/archive.h"

namespace ec::torch::script {

struct PythonLine {
  std::string file;
  int64_t line = 0;
  std::string text;  // trimmed; of a trace the function's name
};

class SourceMap {
 public:
  explicit SourceMap(const Archive& archive) : archive_(archive) {}

  // The author's line behind a byte of a record of code, where the archive says so.
  std::optional<PythonLine> find(const std::string& record, uint32_t offset) const;

 private:
  const Archive& archive_;
};

}  // namespace ec::torch::script
