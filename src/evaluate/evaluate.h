// The job `evaluate`: a model on data, compared with a reference.
#pragma once

#include "driver/model_ref.h"
#include "driver/registry.h"
#include "edgecompiler/options.h"
#include "edgecompiler/report/run.h"
#include "support/result.h"

namespace ec {

// Reads one sample at a time: memory does not grow with the data.
Result<EvaluateReport> evaluate_model(const Registry& registry, const ModelRef& model,
                                      const Options& options, DiagnosticSink& sink);

}  // namespace ec
