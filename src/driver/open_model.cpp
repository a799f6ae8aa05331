#include "driver/open_model.h"

#include <algorithm>

#include "driver/optimize.h"

namespace ec {
namespace {

Result<std::unique_ptr<Graph>> specialised(const Graph& imported, const CompileOptions& options,
                                           const std::string& pipeline,
                                           std::span<const TensorType> types) {
  std::unique_ptr<Graph> graph = imported.clone();
  GivenShapes shapes;
  for (size_t i = 0; i < types.size(); ++i)
    if (!graph->inputs()[i]->type().is_static())
      shapes[graph->inputs()[i]->name()] = types[i].shape->sizes();
  DiagnosticSink sink;
  EC_CHECK_OK(bind_shapes(*graph, shapes, sink));
  EC_TRY([[maybe_unused]] const PipelineReport report, optimize(*graph, options, pipeline, sink));
  return graph;
}

}  // namespace

bool has_open_sizes(const Graph& graph) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [](const Tensor* input) { return !input->type().is_static(); });
}

OpenModel make_open_model(std::shared_ptr<const Graph> imported, const CompileOptions& options,
                          std::string pipeline, const GivenShapes& given) {
  OpenModel model;
  DiagnosticSink quiet;  // nothing is fixed: other sizes can be fed
  if (Result<GivenShapes> shapes = default_shapes(*imported, given, quiet); shapes.ok())
    model.default_shapes = std::move(*shapes);
  model.specialise = [imported, options,
                      pipeline = std::move(pipeline)](std::span<const TensorType> types) {
    return specialised(*imported, options, pipeline, types);
  };
  model.interface = std::move(imported);
  return model;
}

}  // namespace ec
