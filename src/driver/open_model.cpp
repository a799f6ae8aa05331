#include "driver/open_model.h"

namespace ec {

OpenModel make_open_model(const Registry& registry, std::shared_ptr<const Graph> imported,
                          std::string pipeline, PassManagerOptions options) {
  OpenModel model;
  DiagnosticSink quiet;  // nothing is fixed: other sizes can be fed
  if (Result<GivenShapes> shapes = default_shapes(*imported, {}, quiet); shapes.ok())
    model.default_shapes = std::move(*shapes);
  model.specialise = [&registry, imported, pipeline = std::move(pipeline),
                      options = std::move(options)](
                         std::span<const TensorType> types) -> Result<std::unique_ptr<Graph>> {
    std::unique_ptr<Graph> graph = imported->clone();
    GivenShapes shapes;
    for (size_t i = 0; i < types.size(); ++i)
      if (!graph->inputs()[i]->type().is_static())
        shapes[graph->inputs()[i]->name()] = types[i].shape->sizes();
    DiagnosticSink sink;
    EC_CHECK_OK(bind_shapes(*graph, shapes, sink));
    PassContext context;
    context.sink = &sink;
    EC_CHECK_OK(PassManager(options, registry.passes()).run(*graph, pipeline, context));
    return graph;
  };
  model.interface = std::move(imported);
  return model;
}

}  // namespace ec
