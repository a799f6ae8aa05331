#include "driver/jobs.h"

#include <fmt/format.h>

#include <chrono>

#include "driver/compilation.h"
#include "driver/open_model.h"
#include "driver/pass_runs.h"
#include "ir/open_sizes.h"
#include "quantize/measure/class_scores.h"
#include "report/kept.h"
#include "support/budget.h"
#include "support/threads.h"

namespace ec {
namespace {

Result<CompileReport> rewrite_model(const Registry& registry, Verb verb, const ModelRef& model,
                                    const Options& options, DiagnosticSink& sink) {
  EC_TRY(Compilation c, Compilation::create(registry, verb, {&model, 1}, options, sink));
  EC_CHECK_OK(c.run());
  return c.models().front().take_report();
}

// The back end whose device alone runs the file; null: this machine does.
Result<const Backend*> owner_of_code(const Registry& registry, const CompiledModel& model,
                                     DiagnosticSink& sink) {
  if (!model.source) return static_cast<const Backend*>(nullptr);
  for (const Backend* backend : registry.backends()) {
    EC_TRY(const bool owns, backend->owns_code(*model.source, sink));
    if (owns) return backend;
  }
  return static_cast<const Backend*>(nullptr);
}

// The back end that the target names, where its device is here and runs the file, too.
const Backend* chosen_device(const Registry& registry, const CompiledModel& model,
                             const std::string& target) {
  const std::string_view family = std::string_view(target).substr(0, target.find(':'));
  for (const Backend* backend : registry.backends())
    if ((family == backend->info().name || family == "auto") && model.source &&
        backend->runs_file(*model.source) && backend->has_device())
      return backend;
  return nullptr;
}

Status open_on_device(const Backend& owner, const CompiledModel& model, const std::string& target,
                      int threads, OpenedSession& opened) {
  const std::string_view family = std::string_view(target).substr(0, target.find(':'));
  if (family != owner.info().name && family != "auto")
    return Error(Code::DeviceUnavailable,
                 fmt::format("the file is code for {}, which no CPU runs", owner.info().summary))
        .file(model.ref.name)
        .hint(fmt::format("run it with --target {} on a machine with the device, or run the file "
                          "that it was compiled from",
                          owner.info().name));
  Result<OpenedDevice> device = owner.open(*model.source, *model.graph, threads);
  if (!device) return std::move(device).error().file(model.ref.name);
  opened.session = std::move(device->session);
  opened.device = std::move(device->device);
  return {};
}

Status open_here(Compilation& c, bool profile, OpenedSession& opened) {
  CompiledModel& model = c.models().front();
  const bool is_open = has_open_inputs(*model.graph);
  if (!is_open) EC_CHECK_OK(c.run());
  SessionOptions options;
  options.threads = static_cast<int>(c.options().integer_if("threads").value_or(1));
  options.reference = kRunsModel.has(c.verb()) && c.options().flag("reference");
  options.profile = profile;
  Result<std::unique_ptr<Session>> session =
      is_open ? Session::create_open(
                    make_open_model(c.registry(), std::move(model.graph),
                                    session_pipeline(c, model), session_pass_options(c)),
                    options)
              : Session::create(std::move(model.graph), options);
  if (!session) return std::move(session).error().file(model.ref.name);
  opened.session = std::move(*session);
  opened.passes = std::move(model.pass_runs);
  return {};
}

}  // namespace

Result<std::vector<CompileReport>> compile_models(const Registry& registry,
                                                  std::span<const ModelRef> models,
                                                  const Options& options, DiagnosticSink& sink) {
  EC_TRY(Compilation c, Compilation::create(registry, Verb::Compile, models, options, sink));
  EC_CHECK_OK(c.run());
  std::vector<CompileReport> reports;
  for (CompiledModel& model : c.models()) reports.push_back(model.take_report());
  return reports;
}

Result<CompileReport> optimize_model(const Registry& registry, const ModelRef& model,
                                     const Options& options, DiagnosticSink& sink) {
  return rewrite_model(registry, Verb::Optimize, model, options, sink);
}

Result<CompileReport> quantize_model(const Registry& registry, const ModelRef& model,
                                     const Options& options, DiagnosticSink& sink) {
  return rewrite_model(registry, Verb::Quantize, model, options, sink);
}

Result<ModelSummary> inspect_model(const Registry& registry, const ModelRef& model,
                                   const Options& options, DiagnosticSink& sink) {
  EC_TRY(Compilation c, Compilation::create(registry, Verb::Inspect, {&model, 1}, options, sink));
  EC_CHECK_OK(c.run());
  CompiledModel& inspected = c.models().front();
  ModelSummary summary = std::move(inspected.report.before);
  summary.file = model.name;
  summary.format = inspected.format;
  explain_kept(summary, inspected.kept);
  if (!inspected.source) return summary;
  summary.file_bytes = inspected.source->size_bytes();
  for (const Backend* backend : registry.backends()) {
    Result<std::optional<Inspection>> found = backend->inspect(*inspected.source, sink);
    if (!found) {
      if (!sink.has_errors()) sink.report(found.error().diagnostic());
      return std::move(found).error();
    }
    if (*found) summary.device_code.push_back(std::move(**found));
  }
  return summary;
}

Result<OpenedSession> open_session(const Registry& registry, const ModelRef& model, Verb verb,
                                   const Options& options, DiagnosticSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  EC_TRY(Compilation c, Compilation::create(registry, verb, {&model, 1}, options, sink));
  const BudgetScope scope(c.budget());
  EC_CHECK_OK(c.run("import"));
  const CompiledModel& imported = c.models().front();
  OpenedSession opened;
  opened.metadata = imported.graph->metadata();
  opened.softmax_axes = quantize::softmax_axes(*imported.graph);
  EC_TRY(const Backend* owner, owner_of_code(registry, imported, sink));
  if (owner == nullptr) owner = chosen_device(registry, imported, c.options().text("target"));
  if (owner != nullptr) {
    const auto threads = static_cast<int>(c.options().integer_if("threads").value_or(1));
    EC_CHECK_OK(open_on_device(*owner, imported, c.options().text("target"), threads, opened));
  } else {
    const bool profile = verb == Verb::Bench && c.options().flag("per-op");
    EC_CHECK_OK(open_here(c, profile, opened));
  }
  const auto took = std::chrono::steady_clock::now() - start;
  opened.open_ms = std::chrono::duration<double, std::milli>(took).count();
  return opened;
}

}  // namespace ec
