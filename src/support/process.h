// Runs another program and takes what it prints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/result.h"

namespace ec {

// The program's file on PATH; nothing when there is none that may be executed.
std::optional<std::filesystem::path> find_program(const std::string& name);

struct ProcessResult {
  int exit_code = 0;   // 128 + signal when it was killed
  std::string output;  // both streams as they came
};

// No shell: arguments reach the program as they are. Output beyond 16 MB is read and dropped.
Result<ProcessResult> run_program(const std::filesystem::path& program,
                                  const std::vector<std::string>& arguments);

}  // namespace ec
