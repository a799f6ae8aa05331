// Opens a model for running: load, optimise for the CPU, prepare.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edgecompiler/options.h"
#include "passes/manager.h"
#include "runtime/session.h"
#include "support/result.h"

namespace ec {

struct OpenedSession {
  std::unique_ptr<Session> session;
  PipelineReport passes;
  double open_ms = 0;  // everything until ready
  std::string device = "CPU";
  std::map<std::string, std::string> metadata;      // of the model as loaded
  std::vector<std::optional<size_t>> softmax_axes;  // by output, of the model as loaded
};

// Edge TPU code runs on the device with target `coral` or `auto`, everything else on the CPU. With
// options.reference the graph runs as imported, with reference kernels.
Result<OpenedSession> open_session(const std::filesystem::path& path, const CompileOptions& options,
                                   bool profile, DiagnosticSink& sink);

}  // namespace ec
