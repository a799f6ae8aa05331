// The public functions of compile.h.
#include "edgecompiler/compile.h"

#include "api/raise.h"
#include "driver/jobs.h"

namespace ec {
namespace {

CompileResult result_of(CompileReport report, const DiagnosticSink& sink) {
  CompileResult result{report.output.string(), report.target, std::move(report), {}};
  for (const Diagnostic& diagnostic : sink.diagnostics())
    result.warnings.push_back(problem_of(diagnostic));
  return result;
}

}  // namespace

CompileResult compile(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  const ModelRef models[] = {model};
  auto reports = value_or_raise(compile_models(default_registry(), models, options, sink), sink);
  return result_of(std::move(reports.front()), sink);
}

CompileResult optimize(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  return result_of(value_or_raise(optimize_model(default_registry(), model, options, sink), sink),
                   sink);
}

ModelSummary inspect(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  return value_or_raise(inspect_model(default_registry(), model, options, sink), sink);
}

CheckReport check(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  if (!options.is_given("target"))
    return value_or_raise(check_all_targets(default_registry(), model, options, sink), sink);
  PlacementReport report =
      value_or_raise(check_model(default_registry(), model, options, sink), sink);
  return {model, {std::move(report)}};
}

}  // namespace ec
