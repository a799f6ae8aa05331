// The public functions of compile.h.
#include "driver/jobs.h"
#include "driver/raise.h"
#include "edgecompiler/compile.h"

namespace ec {
namespace {

CompileResult result_of(const CompileReport& report, const DiagnosticSink& sink) {
  CompileResult result{report.output.string(), report.target, compile_json(report), {}};
  for (const Diagnostic& diagnostic : sink.diagnostics())
    result.warnings.push_back(problem_of(diagnostic));
  return result;
}

}  // namespace

CompileResult compile(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  const ModelRef models[] = {model};
  const auto reports =
      value_or_raise(compile_models(default_registry(), models, options, sink), sink);
  return result_of(reports.front(), sink);
}

CompileResult optimize(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  return result_of(value_or_raise(optimize_model(default_registry(), model, options, sink), sink),
                   sink);
}

std::string inspect(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  return summary_json(value_or_raise(inspect_model(default_registry(), model, options, sink), sink),
                      true);
}

std::string check(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  return placement_json(
      value_or_raise(check_model(default_registry(), model, options, sink), sink));
}

}  // namespace ec
