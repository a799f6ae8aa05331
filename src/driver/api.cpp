// The public functions of compile.h and evaluate.h.
#include "driver/check.h"
#include "driver/compile.h"
#include "driver/evaluate.h"
#include "driver/inspect.h"
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

CompileResult compile(const std::string& model, const CompileOptions& options) {
  DiagnosticSink sink;
  return result_of(value_or_raise(compile_model(model, options, sink), sink), sink);
}

CompileResult optimize(const std::string& model, const CompileOptions& options) {
  DiagnosticSink sink;
  return result_of(value_or_raise(optimize_model(model, options, sink), sink), sink);
}

std::string evaluate(const std::string& model, const EvaluateOptions& what,
                     const CompileOptions& options) {
  DiagnosticSink sink;
  return evaluate_json(value_or_raise(evaluate_model(model, what, options, sink), sink));
}

std::string inspect(const std::string& model, const CompileOptions& options) {
  DiagnosticSink sink;
  return summary_json(value_or_raise(inspect_model(model, options, sink), sink), true);
}

std::string check(const std::string& model, const CompileOptions& options) {
  DiagnosticSink sink;
  return check_json(value_or_raise(check_model(model, options, sink), sink));
}

}  // namespace ec
