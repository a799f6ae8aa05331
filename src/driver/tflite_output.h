// The file of the `tflite` target: written beside its place, read back, run against the graph it
// was made from, and put in place when it agrees.
#pragma once

#include <filesystem>

#include "driver/compile.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec {

Status write_tflite_output(const Graph& graph, const std::filesystem::path& model,
                           const CompileOptions& options, CompileReport& report,
                           DiagnosticSink& sink);

}  // namespace ec
