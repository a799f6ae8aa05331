// Google's edgetpu_compiler, where it is installed: the only program that makes Edge TPU code.
#pragma once

#include <span>

#include "backend/coral/compiler_log.h"
#include "support/blob.h"

namespace ec::coral {

struct CompilerInput {
  std::string name;  // without extension, as the log shall call it
  Blob file;
};

struct CompiledByGoogle {
  CompilerLog log;          // one model per input
  std::vector<Blob> files;  // the Edge TPU code, in order
};

// Compiles models together, for runtimes from `runtime` on: they share the device's parameter
// memory, earlier ones first. Works in a folder of its own and leaves nothing behind. Fails with
// the compiler's own words when it does.
Result<CompiledByGoogle> run_edgetpu_compiler(std::span<const CompilerInput> models, int runtime);

}  // namespace ec::coral
