// Google's edgetpu_compiler, where it is installed: the only program that makes Edge TPU code.
#pragma once

#include <filesystem>

#include "backend/coral/compiler_log.h"

namespace ec::coral {

struct CompiledByGoogle {
  CompilerLog log;
  std::filesystem::path file;  // NAME_edgetpu.tflite
};

// Compiles `model` into `folder` for runtimes from `min_runtime` on. Fails with the compiler's own
// words when it does.
Result<CompiledByGoogle> run_edgetpu_compiler(const std::filesystem::path& model,
                                              const std::filesystem::path& folder, int min_runtime);

}  // namespace ec::coral
