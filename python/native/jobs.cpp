// The jobs of the compiler: models and keywords in, reports as dicts out.
#include "driver/jobs.h"

#include "api/lists_json.h"
#include "bindings.h"
#include "evaluate/evaluate.h"
#include "interruptible.h"
#include "models.h"
#include "options.h"
#include "options/report_files.h"
#include "report/placement.h"
#include "reports.h"

namespace ec::python {
namespace {

// What --report of the command line writes.
template <class Report>
std::string file_text(const Report& report) {
  return to_json(report);
}
std::string file_text(const std::vector<CompileReport>& reports) {
  return reports.size() == 1 ? to_json(reports.front()) : to_json(reports);
}

// Runs a job without the interpreter's lock. `job` gets the options and the sink and gives a
// report.
template <class Report, class Job>
Report run_job(Verb verb, const ModelRef& model, const py::dict& keywords, const Job& job) {
  const Options options = options_from_python(keywords, verb);
  const std::vector<std::string>& files = options.texts("report");
  check_or_throw(check_report_files(files));
  return run_interruptible([&] {
    DiagnosticSink sink;
    Report report = value_or_fail(job(options, sink), sink, model.name, options.text("target"));
    if (!files.empty()) check_or_throw(write_report_files(files, file_text(report)));
    return report;
  });
}

py::object compile(const std::vector<ModelRef>& models, const py::dict& keywords) {
  if (models.empty()) throw py::value_error("there is no model");
  const auto reports = run_job<std::vector<CompileReport>>(
      Verb::Compile, models.front(), keywords, [&](const Options& options, DiagnosticSink& sink) {
        return compile_models(default_registry(), models, options, sink);
      });
  py::list list;
  for (const CompileReport& report : reports) list.append(report_to_python(report));
  return list;
}

// A job on one model.
template <class Report, Verb verb,
          Result<Report> (*job)(const Registry&, const ModelRef&, const Options&, DiagnosticSink&)>
py::object run_on_model(const ModelRef& model, const py::dict& keywords) {
  return report_to_python(
      run_job<Report>(verb, model, keywords, [&](const Options& options, DiagnosticSink& sink) {
        return job(default_registry(), model, options, sink);
      }));
}

Result<PlacementReport> check_strictly(const Registry& registry, const ModelRef& model,
                                       const Options& options, DiagnosticSink& sink) {
  EC_TRY(PlacementReport report, check_model(registry, model, options, sink));
  if (options.flag("strict")) EC_CHECK_OK(refuse_host_operations(report));
  return report;
}

Result<CheckReport> check_all_strictly(const Registry& registry, const ModelRef& model,
                                       const Options& options, DiagnosticSink& sink) {
  EC_TRY(CheckReport report, check_all_targets(registry, model, options, sink));
  if (options.flag("strict")) EC_CHECK_OK(refuse_untaken(report, true));
  return report;
}

// With a target: its placement; without: an entry for every target.
py::object check(const ModelRef& model, const py::dict& keywords) {
  return keywords.contains("target")
             ? run_on_model<PlacementReport, Verb::Check, check_strictly>(model, keywords)
             : run_on_model<CheckReport, Verb::Check, check_all_strictly>(model, keywords);
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
  const auto job = [&](const char* name, py::object (*function)(const ModelRef&, const py::dict&)) {
    module.def(name, function, py::arg("model"), py::arg("options"));
  };
  module.def("compile", &compile, py::arg("models"), py::arg("options"));
  job("optimize", &run_on_model<CompileReport, Verb::Optimize, optimize_model>);
  job("quantize", &run_on_model<CompileReport, Verb::Quantize, quantize_model>);
  job("check", &check);
  job("inspect", &run_on_model<ModelSummary, Verb::Inspect, inspect_model>);
  job("evaluate", &run_on_model<EvaluateReport, Verb::Evaluate, evaluate_model>);
  module.def("explain", &explain, py::arg("code"));
  module.def("targets", [] { return targets_json(default_registry()); });
  module.def("passes", [] { return passes_json(default_registry()); });
}

}  // namespace ec::python
