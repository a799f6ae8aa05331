// Runs the passes that the options ask for.
#pragma once

#include <string_view>

#include "edgecompiler/options.h"
#include "ir/graph.h"
#include "passes/manager.h"
#include "support/result.h"

namespace ec {

// `pipeline` is the default list (a name of passes/pipelines.cpp); options.passes replaces it.
// With stop_after "import" nothing runs.
Result<PipelineReport> optimize(Graph& graph, const CompileOptions& options,
                                std::string_view pipeline, DiagnosticSink& sink);

}  // namespace ec
