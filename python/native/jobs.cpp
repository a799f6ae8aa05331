// The jobs of the compiler: models and keywords in, reports as JSON out.
#include "driver/jobs.h"

#include "bindings.h"
#include "driver/lists_json.h"
#include "evaluate/evaluate.h"
#include "interruptible.h"
#include "models.h"
#include "options.h"
#include "options/report_files.h"

namespace ec::python {
namespace {

// Runs a job without the interpreter's lock. `job` gets the options and the sink and gives JSON.
template <class Job>
std::string run_job(Verb verb, const ModelRef& model, const py::dict& keywords, const Job& job) {
  const Options options = options_from_python(keywords, verb);
  const std::vector<std::string>& reports = options.texts("report");
  check_or_throw(check_report_files(reports));
  return run_interruptible([&] {
    DiagnosticSink sink;
    std::string json = value_or_fail(job(options, sink), sink, model.name, options.text("target"));
    check_or_throw(write_report_files(reports, json));
    return json;
  });
}

// The report of a job, as JSON.
template <class T>
Result<std::string> json_of(Result<T> result, std::string (*json)(const T& report)) {
  if (!result.ok()) return std::move(result).error();
  return json(*result);
}

std::string compile(const std::vector<ModelRef>& models, const py::dict& keywords) {
  if (models.empty()) throw py::value_error("there is no model");
  return run_job(Verb::Compile, models.front(), keywords,
                 [&](const Options& options, DiagnosticSink& sink) -> Result<std::string> {
                   EC_TRY(const std::vector<CompileReport> reports,
                          compile_models(default_registry(), models, options, sink));
                   return compile_json(reports);
                 });
}

using CompileFn = Result<CompileReport> (*)(const Registry&, const ModelRef&, const Options&,
                                            DiagnosticSink&);

template <CompileFn job, Verb verb>
std::string rewrite(const ModelRef& model, const py::dict& keywords) {
  return run_job(verb, model, keywords, [&](const Options& options, DiagnosticSink& sink) {
    return json_of<CompileReport>(job(default_registry(), model, options, sink), compile_json);
  });
}

std::string check(const ModelRef& model, const py::dict& keywords) {
  return run_job(Verb::Check, model, keywords,
                 [&](const Options& options, DiagnosticSink& sink) -> Result<std::string> {
                   EC_TRY(const PlacementReport report,
                          check_model(default_registry(), model, options, sink));
                   if (options.flag("strict")) EC_CHECK_OK(refuse_host_operations(report));
                   return placement_json(report);
                 });
}

std::string inspect(const ModelRef& model, const py::dict& keywords) {
  return run_job(Verb::Inspect, model, keywords,
                 [&](const Options& options, DiagnosticSink& sink) -> Result<std::string> {
                   EC_TRY(const ModelSummary summary,
                          inspect_model(default_registry(), model, options, sink));
                   return summary_json(summary, /*layers=*/true);
                 });
}

std::string evaluate(const ModelRef& model, const py::dict& keywords) {
  return run_job(Verb::Evaluate, model, keywords,
                 [&](const Options& options, DiagnosticSink& sink) {
                   return json_of<EvaluateReport>(
                       evaluate_model(default_registry(), model, options, sink), evaluate_json);
                 });
}

std::string explain(const std::optional<std::string>& code) {
  if (!code) return codes_json();
  const CodeInfo* info = find_code(*code);
  if (info == nullptr)
    throw Failure(Error(Code::Usage, "unknown code '" + *code + "'")
                      .hint("edgecompiler.explain() lists all codes"));
  return code_json(*info);
}

}  // namespace

void bind_jobs(py::module_& module) {
  const auto job = [&](const char* name,
                       std::string (*function)(const ModelRef&, const py::dict&)) {
    module.def(name, function, py::arg("model"), py::arg("options"));
  };
  module.def("compile", &compile, py::arg("models"), py::arg("options"));
  job("optimize", &rewrite<optimize_model, Verb::Optimize>);
  job("quantize", &rewrite<quantize_model, Verb::Quantize>);
  job("check", &check);
  job("inspect", &inspect);
  job("evaluate", &evaluate);
  module.def("explain", &explain, py::arg("code"));
  module.def("targets", [] { return targets_json(default_registry()); });
  module.def("passes", [] { return passes_json(default_registry()); });
}

}  // namespace ec::python
