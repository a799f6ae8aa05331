// The jobs of the compiler: each walks the phases of driver/phases.cpp up to its own last one.
// Options are those that somebody gave; names, types and ranges are checked here and defaults
// filled in. All problems go to the sink; the returned error is the first of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/model_ref.h"
#include "driver/opened_session.h"
#include "driver/registry.h"
#include "edgecompiler/options.h"
#include "edgecompiler/report/compile.h"
#include "support/result.h"

namespace ec {

// Writes the target's file for every model, all or none.
Result<std::vector<CompileReport>> compile_models(const Registry& registry,
                                                  std::span<const ModelRef> models,
                                                  const Options& options, DiagnosticSink& sink);
// Writes the optimised float graph to --output; without it nothing is written.
Result<CompileReport> optimize_model(const Registry& registry, const ModelRef& model,
                                     const Options& options, DiagnosticSink& sink);
// Writes the quantised graph to --output; without it nothing is written.
Result<CompileReport> quantize_model(const Registry& registry, const ModelRef& model,
                                     const Options& options, DiagnosticSink& sink);
// Places the model as `compile` would. Operations that cannot run are rows, not errors.
Result<PlacementReport> check_model(const Registry& registry, const ModelRef& model,
                                    const Options& options, DiagnosticSink& sink);
// The same for every target of the registry, on one reading of the model. A target that refuses the
// model is an entry with its reason; where all refuse it, the reason of the first is the error.
Result<CheckReport> check_all_targets(const Registry& registry, const ModelRef& model,
                                      const Options& options, DiagnosticSink& sink);
// NotOnTarget where no target takes the model and every operation of it; with `strict`, on its
// device.
Status refuse_untaken(const CheckReport& report, bool strict);
// Reads the model and tells what it holds.
Result<ModelSummary> inspect_model(const Registry& registry, const ModelRef& model,
                                   const Options& options, DiagnosticSink& sink);
// Opens a model for `run`, `bench` and sessions of the library.
Result<OpenedSession> open_session(const Registry& registry, const ModelRef& model, Verb verb,
                                   const Options& options, DiagnosticSink& sink);

}  // namespace ec
