// import: the model becomes a graph, with the sizes that were given.
#include "analysis/costs.h"
#include "driver/phases.h"
#include "frontend/choose.h"
#include "frontend/default_sizes.h"
#include "frontend/ecir/ecir.h"
#include "frontend/flexible_shapes.h"
#include "frontend/options.h"
#include "limits/limits.h"
#include "ops/border.h"
#include "quantize/calibration/sample_shapes.h"
#include "report/kept.h"
#include "report/summary.h"

namespace ec {
namespace {

// What each byte of the model's own constants justifies beyond --fold-work.
constexpr uint64_t kFoldWorkPerByte = 64;

// Reports an error that has not been reported yet, with the model's name on it.
Error reported(Error error, const CompiledModel& model, DiagnosticSink& sink) {
  error = std::move(error).file(model.ref.name);
  if (!sink.has_errors()) sink.report(error.diagnostic());
  return error;
}

// `inspect` shows whatever can be parsed; `check` judges the whole model.
std::optional<KeptOperations> kept_operations(Verb verb) {
  if (verb == Verb::Inspect) return KeptOperations(KeptOperations::Scope::Everything);
  if (verb == Verb::Check) return KeptOperations(KeptOperations::Scope::Unsupported);
  return std::nullopt;
}

Result<std::unique_ptr<Graph>> read_graph(const Compilation& c, CompiledModel& model,
                                          ImportOptions options, DiagnosticSink& sink) {
  if (model.ref.graph != nullptr) {
    model.format = "graph";
    std::unique_ptr<Graph> graph = model.ref.graph->clone();
    EC_CHECK_OK(apply_import_options(*graph, options, sink));
    normalise_attributes(*graph);
    return graph;
  }
  ImportedModel* shared = model.shared.get();
  if (shared != nullptr && shared->source) {
    model.source = shared->source;
  } else if (model.ref.bytes) {
    model.source = ModelSource::from_bytes(model.ref.name, *model.ref.bytes);
  } else {
    EC_TRY(model.source, ModelSource::open(model.ref.name));
  }
  if (c.target() != nullptr) EC_CHECK_OK(c.target()->check_source(*model.source, sink));
  if (shared != nullptr && shared->graph != nullptr) {
    model.format = shared->format;
    model.kept = shared->kept;
    for (const Diagnostic& d : shared->diagnostics) sink.report(d);
    return shared->graph->clone();
  }
  EC_TRY(const Frontend* frontend, choose_frontend(c.registry().frontends(), *model.source));
  model.format = frontend->name();
  std::optional<KeptOperations> kept = kept_operations(c.verb());
  options.kept = kept ? &*kept : nullptr;
  options.leave_weights = c.verb() == Verb::Inspect && !c.options().is_given("dump-phases");
  EC_TRY(std::unique_ptr<Graph> graph, frontend->import(*model.source, options, sink));
  if (kept) model.kept = kept->operations();
  // Nothing is read from the model's files after this: the graph is one version of them.
  EC_CHECK_OK(model.source->check_unchanged());
  if (shared != nullptr)
    *shared = {model.source, model.format, graph->clone(), sink.diagnostics(), model.kept};
  return graph;
}

const FlexibleShapes* flexible_shapes(const Compilation& c) {
  return c.target() != nullptr ? c.target()->flexible_shapes() : nullptr;
}

// A compiled file has fixed sizes: an open batch becomes 1, the file's own default counts,
// calibration data tells the sizes of arrays. Where the target or calibration need every size, what
// remains is asked for; else it stays open.
Status bind_sizes(const Compilation& c, Graph& graph) {
  if (!kPlacesModel.has(c.verb()) && c.verb() != Verb::Quantize) return {};
  const bool needed = c.target()->needs_fixed_sizes() || c.options().is_given("quantize");
  GivenShapes given;
  if (const std::string& data = c.options().text("calibration-data"); !data.empty()) {
    std::vector<quantize::ModelInput> inputs;
    for (const Tensor* input : graph.inputs()) inputs.push_back({input->name(), input->type()});
    given = quantize::sample_shapes(data, inputs);
  }
  if (const FlexibleShapes* flexible = flexible_shapes(c))
    return bind_flexible_shapes(graph, *flexible, given, c.options().shapes("input-shape"),
                                c.options().sizes("dim"), c.sink());
  DiagnosticSink sink;
  Result<GivenShapes> shapes = default_shapes(graph, given, sink);
  if (!shapes && !needed) return {};
  for (const Diagnostic& d : sink.diagnostics()) c.sink().report(d);
  if (!shapes) return std::move(shapes).error();
  remark_given_sizes(given, *shapes, c.sink());
  return bind_shapes(graph, *shapes, c.sink());
}

Status import_model(Compilation& c, CompiledModel& model) {
  EC_TRY(ImportOptions options, import_options(c.options()));
  if (const FlexibleShapes* flexible = flexible_shapes(c)) leave_open(*flexible, options);
  DiagnosticSink load;
  Result<std::unique_ptr<Graph>> graph = read_graph(c, model, options, load);
  for (const Diagnostic& d : load.diagnostics()) c.sink().report(d);
  if (!graph) return reported(std::move(graph).error(), model, c.sink());
  model.graph = std::move(*graph);
  if (c.verb() == Verb::Inspect) warn_of_kept(model.kept, model.ref.name, c.sink());
  model.passes.sink = &c.sink();
  const auto model_bytes = static_cast<size_t>(constant_memory(*model.graph));
  model.passes.fold = fold_limits(c.options(), model_bytes);
  c.budget().allow_more_folding(kFoldWorkPerByte * model_bytes);
  if (Status status = bind_sizes(c, *model.graph); !status.ok())
    return reported(std::move(status).error(), model, c.sink());
  model.report.before = summarize(*model.graph);
  return {};
}

}  // namespace

Status import_models(Compilation& compilation) {
  for (CompiledModel& model : compilation.models()) EC_CHECK_OK(import_model(compilation, model));
  return {};
}

}  // namespace ec
