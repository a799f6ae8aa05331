// check: one target, or every target of the registry on one reading of the model.
#include <algorithm>

#include "driver/compilation.h"
#include "driver/jobs.h"

namespace ec {
namespace {

Result<PlacementReport> check_target(const Registry& registry, const ModelRef& model,
                                     const Options& options,
                                     const std::shared_ptr<ImportedModel>& shared,
                                     DiagnosticSink& sink) {
  EC_TRY(Compilation c, Compilation::create(registry, Verb::Check, {&model, 1}, options, sink));
  CompiledModel& checked = c.models().front();
  checked.shared = shared;
  if (Status status = c.run(); !status.ok()) return std::move(status).error().file(model.name);
  return std::move(checked.placed->report);
}

// What is given without the options of other back ends: those of one do not keep the others from
// being judged.
Options options_for(const Registry& registry, const Options& given, std::string_view target) {
  Options options;
  for (const auto& [name, entry] : given.entries()) {
    const CatalogEntry* found = registry.options().find(name, Verb::Check);
    const bool others =
        found != nullptr && !found->targets.empty() &&
        std::find(found->targets.begin(), found->targets.end(), target) == found->targets.end();
    if (!others) options.set(name, entry.value, entry.source);
  }
  options.set("target", std::string(target));
  return options;
}

// Warnings and remarks are told once, whichever targets they come from.
void report_once(const DiagnosticSink& own, bool errors_too, DiagnosticSink& sink) {
  for (const Diagnostic& d : own.diagnostics()) {
    if (d.severity == Severity::Error && !errors_too) continue;
    const auto& known = sink.diagnostics();
    if (std::find(known.begin(), known.end(), d) == known.end()) sink.report(d);
  }
}

PlacementReport refusal(const ModelRef& model, std::string_view target, const Diagnostic& why) {
  PlacementReport report;
  report.model = model.name;
  report.target = target;
  report.refused = Refusal{code_id(why.code), why.message, why.hint};
  return report;
}

}  // namespace

Result<PlacementReport> check_model(const Registry& registry, const ModelRef& model,
                                    const Options& options, DiagnosticSink& sink) {
  return check_target(registry, model, options, nullptr, sink);
}

Result<CheckReport> check_all_targets(const Registry& registry, const ModelRef& model,
                                      const Options& options, DiagnosticSink& sink) {
  CheckReport report{model.name, {}};
  const auto shared = std::make_shared<ImportedModel>();
  std::optional<Error> first;
  DiagnosticSink first_problems;
  for (const Backend* backend : registry.backends()) {
    const std::string_view target = backend->info().name;
    DiagnosticSink own;
    Result<PlacementReport> placed =
        check_target(registry, model, options_for(registry, options, target), shared, own);
    if (placed) {
      report.targets.push_back(std::move(*placed));
      report_once(own, false, sink);
      continue;
    }
    report.targets.push_back(refusal(model, target, placed.error().diagnostic()));
    if (first) continue;
    first = std::move(placed).error();
    first_problems = std::move(own);
  }
  const bool taken = std::any_of(report.targets.begin(), report.targets.end(),
                                 [](const PlacementReport& target) { return !target.refused; });
  if (taken) return report;
  report_once(first_problems, true, sink);
  return *std::move(first);
}

Status refuse_untaken(const CheckReport& report, bool strict) {
  std::vector<std::string> notes;
  for (const PlacementReport& target : report.targets) {
    if (target.runs() && !(strict && target.host > 0)) return {};
    notes.push_back(target.target + ": " +
                    (target.refused ? target.refused->message
                     : target.unsupported > 0
                         ? std::to_string(target.unsupported) + " operations cannot run"
                         : std::to_string(target.host) + " operations stay on the CPU"));
  }
  Error error(Code::NotOnTarget, "no target takes the model");
  error.diagnostic().notes = std::move(notes);
  return std::move(error)
      .file(report.model)
      .hint("the tables name each operation with its reason and fix");
}

}  // namespace ec
