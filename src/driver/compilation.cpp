#include "driver/compilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "analysis/costs.h"
#include "driver/output_paths.h"
#include "driver/phases.h"
#include "driver/quantize_request.h"
#include "driver/statistics.h"
#include "edgecompiler/version.h"
#include "ir/text.h"
#include "limits/limits.h"
#include "report/convert.h"
#include "report/summary.h"
#include "support/file.h"
#include "support/sha256.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string_view variant_of(std::string_view target) {
  const size_t colon = target.find(':');
  return colon == std::string_view::npos ? std::string_view{} : target.substr(colon + 1);
}

bool has_target(Verb verb) { return verb != Verb::Optimize && verb != Verb::Inspect; }
// These prepare a session, which is this machine's whatever the target is.
bool runs_here(Verb verb) {
  return verb == Verb::Run || verb == Verb::Bench || verb == Verb::Evaluate;
}

// The text of an option that may not be there.
std::string given_text(const Options& given, std::string_view name) {
  const auto found = given.entries().find(name);
  const auto* text =
      found == given.entries().end() ? nullptr : std::get_if<std::string>(&found->second.value);
  return text != nullptr ? *text : std::string();
}

// The back end of the verb: `quantize` takes the first one with integers where none is named.
Result<const Backend*> choose_backend(const Registry& registry, Verb verb,
                                      const std::string& target) {
  EC_TRY(const Backend* backend, registry.find_backend(target));
  if (runs_here(verb)) return registry.backends().front();
  if (verb != Verb::Quantize || backend != registry.backends().front()) return backend;
  for (const Backend* other : registry.backends()) {
    EC_TRY(const std::unique_ptr<Target> configured, other->configure({}, {}));
    if (configured->integer_rules() != nullptr) return other;
  }
  return backend;
}

Status check_stop_after(const Registry& registry, const std::string& name) {
  if (name.empty() || find_phase(name) != nullptr || registry.passes().find_pass(name) != nullptr)
    return {};
  std::vector<std::string_view> known(phase_names().begin(), phase_names().end());
  for (const PassInfo* pass : registry.passes().passes()) known.push_back(pass->name);
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = fmt::format("phases: {}", fmt::join(phase_names(), ", "));
  return Error(Code::Usage,
               fmt::format("--stop-after: there is no phase or pass '{}'", printable(name)))
      .hint(std::move(hint));
}

}  // namespace

ModelJob CompiledModel::job(const Compilation& compilation) const {
  ModelJob job;
  job.graph = graph.get();
  job.name = fs::path(ref.name).stem().string();
  job.output = report.output;
  job.passes = &pass_runs;
  job.measures = compilation.verb() == Verb::Compile;
  job.trial_limits =
      trial_limits(compilation.options(), static_cast<size_t>(constant_memory(*graph)));
  if (!job.measures) return job;  // nothing is written
  job.provenance = {{"compiler", fmt::format("edgecompiler {}", version())},
                    {"options_sha256", compilation.options_sha256()}};
  if (!source) return job;
  if (const Result<std::string> hash = source->sha256(); hash.ok())
    job.provenance["source_sha256"] = *hash;
  return job;
}

Result<std::vector<quantize::ModelInput>> CompiledModel::used_inputs() const {
  std::vector<quantize::ModelInput> used;
  for (const Tensor* input : graph->inputs()) {
    const auto same = std::find_if(facts.inputs.begin(), facts.inputs.end(),
                                   [&](const auto& given) { return given.name == input->name(); });
    if (same == facts.inputs.end())
      return Error(Code::Internal, "input '" + input->name() + "' is not one of the model's");
    used.push_back(*same);
  }
  return used;
}

CompileReport CompiledModel::take_report() {
  report.after = summarize(*graph);
  report.passes = pass_reports(pass_runs);
  report.pass_milliseconds = pass_runs.milliseconds;
  return std::move(report);
}

Result<Compilation> Compilation::create(const Registry& registry, Verb verb,
                                        std::span<const ModelRef> models, const Options& given,
                                        DiagnosticSink& sink) {
  Compilation c;
  c.registry_ = &registry;
  c.verb_ = verb;
  c.sink_ = &sink;
  for (const ModelRef& model : models) c.models_.emplace_back(model);
  for (CompiledModel& model : c.models_) model.report.model = model.ref.name;

  const std::string named = given_text(given, "target");
  const Backend* backend = nullptr;
  if (has_target(verb)) {
    EC_TRY(backend, choose_backend(registry, verb, named));
  }
  const std::string_view options_of = backend != nullptr ? backend->info().name : "";
  EC_TRY(c.options_, registry.options().resolve(given, verb, options_of));
  EC_CHECK_OK(take_options_of_statistics(registry.options(), verb, c.options_));
  c.budget_ = std::make_unique<Budget>(compilation_limits(c.options_));
  if (backend != nullptr) {
    const bool other = !named.empty() && !runs_here(verb);
    EC_TRY(c.target_, backend->configure(other ? variant_of(named) : "", c.options_));
    for (CompiledModel& model : c.models_) model.report.target = c.target_->name();
  }
  if (verb == Verb::Compile || verb == Verb::Optimize || verb == Verb::Quantize)
    EC_CHECK_OK(check_stop_after(registry, c.options_.text("stop-after")));
  EC_CHECK_OK(choose_outputs(c));
  if (kQuantizesModel.has(verb)) EC_CHECK_OK(check_quantize_options(c));
  for (CompiledModel& model : c.models_)
    for (const OptionReportRow& row : options_report(registry.options(), c.options_, verb))
      model.report.options.push_back({std::string(row.name), row.value, std::string(row.source)});
  return c;
}

std::string Compilation::options_sha256() const {
  const std::string target = target_ != nullptr ? target_->name() : "";
  return sha256_hex("target=" + target + ";" +
                    provenance_text(registry_->options(), options_, verb_));
}

// Whoever calls the library gets an error where memory is refused; large tables ask beforehand.
Status Compilation::run_phase(const Phase& phase) try {
  Status status = phase.run(*this);
  // What was stopped may look like a success; files that have their names are one.
  if (status.ok() && phase.run != &commit) status = check_budget();
  if (status.ok() || !is_stop(status.error().code())) return status;
  return std::move(status).error().note(fmt::format("in phase '{}'", phase.name));
} catch (const std::bad_alloc&) {
  return Error(Code::OutOfMemory, "memory exhausted")
      .note(fmt::format("in phase '{}'", phase.name))
      .hint("use a smaller model or input shape, or a machine with more memory");
}

Status Compilation::run(std::string_view last) {
  const BudgetScope scope(*budget_);
  const std::string stop_after =
      kRewritesModel.has(verb_) ? options_.text("stop-after") : std::string();
  const Phase* stop_phase = stop_after.empty() ? nullptr : find_phase(stop_after);
  // `optimize` and `quantize` write the graph as far as it came; a target's file needs all phases.
  const auto skipped = [&](const Phase& phase) {
    if (!phase.verbs.has(verb_)) return true;
    return stopped_ && (verb_ == Verb::Compile || (phase.run != &emit && phase.run != &commit));
  };
  bool done = false;
  while (next_phase_ < all_phases().size() && !done) {
    const size_t number = next_phase_++;
    const Phase& phase = all_phases()[number];
    done = phase.name == last;
    if (skipped(phase)) continue;
    const auto start = Clock::now();
    EC_CHECK_OK(run_phase(phase));
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    for (CompiledModel& model : models_) {
      model.report.phases.push_back({std::string(phase.name), ms});
      stopped_ = stopped_ || &phase == stop_phase || model.pass_runs.stopped;
    }
    if (kRunsPasses.has(verb_)) EC_CHECK_OK(dump(phase.name, number));
  }
  if (stopped_ && !stop_after.empty())
    for (CompiledModel& model : models_) {
      model.report.stopped_after = stop_after;
      if (verb_ == Verb::Compile) model.report.output.clear();
    }
  return {};
}

Status Compilation::dump(std::string_view phase, size_t number) const {
  const std::string& directory = options_.text("dump-phases");
  if (directory.empty()) return {};
  for (const CompiledModel& model : models_) {
    const fs::path folder = dump_folder(*this, model);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return Error(Code::OutputUnwritable, "cannot make directory: " + error.message())
          .file(folder.string());
    const auto write = [&](const Graph& graph, std::string_view suffix) {
      return write_file(folder / fmt::format("{:02}-{}{}.ecir", number, phase, suffix),
                        print(graph, ConstantText::Elide));
    };
    // What was read back is what the files hold; later phases change nothing any more.
    if (model.read_back.size() > 1) {
      for (size_t i = 0; i < model.read_back.size(); ++i)
        EC_CHECK_OK(write(*model.read_back[i], fmt::format("-{}", i)));
    } else if (!model.read_back.empty()) {
      EC_CHECK_OK(write(*model.read_back.front(), ""));
    } else if (model.graph != nullptr) {
      EC_CHECK_OK(write(*model.graph, ""));
    }
  }
  return {};
}

}  // namespace ec
