// optimise and legalise: passes, first those that serve every target, then the target's own.
#include "driver/graph_files.h"
#include "driver/output_paths.h"
#include "driver/pass_runs.h"
#include "driver/phases.h"
#include "quantize/outputs/split_outputs.h"
#include "quantize/strategy/qdq_pairs.h"
#include "quantize/strategy/strategy.h"

namespace ec {
namespace {

// Sessions with the reference kernels run the graph as it was imported.
bool as_imported(const Compilation& c) {
  return kRunsModel.has(c.verb()) && c.options().flag("reference");
}

// The pipelines of the target; --passes takes the place of both.
TargetPipelines pipelines_of(const Compilation& c, const CompiledModel& model) {
  if (as_imported(c)) return {"none", "none"};
  if (kRunsPasses.has(c.verb()) && !c.options().text("passes").empty())
    return {c.options().text("passes"), "none"};
  if (c.target() == nullptr) return {"optimize", "none"};
  PipelineRequest request;
  request.source_format = model.format;
  request.graph = model.graph.get();
  request.changes_model = model.strategy != nullptr || !c.options().shapes("input-shape").empty() ||
                          !c.options().sizes("dim").empty();
  if (c.verb() == Verb::Quantize && !model.report.output.empty())
    if (const auto format = find_graph_format(model.report.output); format.ok())
      request.keeps_interface = (*format)->keeps_interface;
  return c.target()->pipelines(request);
}

// The choice looks at the graph as it was imported: it must not change when passes have run.
const TargetPipelines& chosen_pipelines(const Compilation& c, CompiledModel& model) {
  if (!model.pipelines) model.pipelines = pipelines_of(c, model);
  return *model.pipelines;
}

Status run_on_all(Compilation& c, std::string_view phase, std::string TargetPipelines::*pipeline) {
  for (CompiledModel& model : c.models())
    EC_CHECK_OK(run_passes(c, model, phase, chosen_pipelines(c, model).*pipeline));
  return {};
}

}  // namespace

PassManagerOptions session_pass_options(const Compilation& c) {
  PassManagerOptions options;
  if (!kRunsPasses.has(c.verb())) return options;
  options.disabled = c.options().texts("disable-pass");
  options.print_after = c.options().texts("print-after");
  return options;
}

std::string session_pipeline(const Compilation& c, const CompiledModel& model) {
  const TargetPipelines pipelines = pipelines_of(c, model);
  return pipelines.optimise + "," + pipelines.legalise;
}

Status run_passes(const Compilation& c, CompiledModel& model, std::string_view phase,
                  std::string_view pipeline) {
  PassManagerOptions options = session_pass_options(c);
  if (kRunsPasses.has(c.verb()) && !c.options().text("dump-phases").empty())
    options.dump_directory = dump_folder(c, model) / phase;
  if (kRewritesModel.has(c.verb()) && find_phase(c.options().text("stop-after")) == nullptr)
    options.stop_after = c.options().text("stop-after");
  model.passes.integer_weights = model.strategy != nullptr && model.strategy->integer_weights;
  EC_TRY(PipelineReport report, PassManager(std::move(options), c.registry().passes())
                                    .run(*model.graph, pipeline, model.passes));
  model.pass_runs.append(std::move(report));
  return {};
}

Status optimise(Compilation& compilation) {
  EC_CHECK_OK(run_on_all(compilation, "optimise", &TargetPipelines::optimise));
  // Here, where passes have found all sizes and quantisation has not chosen scales yet.
  if (!kQuantizesModel.has(compilation.verb()) || !compilation.options().flag("split-outputs"))
    return {};
  for (CompiledModel& model : compilation.models()) {
    EC_TRY([[maybe_unused]] const auto split, quantize::split_outputs(*model.graph));
  }
  return {};
}

Status legalise(Compilation& compilation) {
  // What is rounded may have become constant.
  for (CompiledModel& model : compilation.models())
    if (model.strategy != nullptr && model.strategy->uses_recorded_parameters)
      EC_CHECK_OK(quantize::fold_rounding(*model.graph, model.passes));
  return run_on_all(compilation, "legalise", &TargetPipelines::legalise);
}

}  // namespace ec
