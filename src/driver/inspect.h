// What `inspect` gives: the model's summary with the facts about its file, and for Edge TPU models
// what the compiled package holds.
#pragma once

#include <string>

#include "driver/summary.h"
#include "edgecompiler/options.h"
#include "support/result.h"

namespace ec {

// All problems go to the sink; the returned error is the first of them.
Result<ModelSummary> inspect_model(const std::string& file, const CompileOptions& options,
                                   DiagnosticSink& sink);

}  // namespace ec
