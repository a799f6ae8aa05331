#include "driver/specialize.h"

#include "frontend/input_shapes.h"
#include "ops/infer.h"

namespace ec {

Status specialize(Graph& graph, const CompileOptions& options, DiagnosticSink& sink) {
  if (options.input_shapes.empty() && options.dims.empty()) return {};
  std::vector<NamedInput> inputs;
  for (const Tensor* input : graph.inputs()) inputs.push_back({input->name(), input->type()});
  const size_t before = sink.error_count();
  apply_input_options(inputs, {options.input_shapes, options.dims}, sink);
  if (sink.error_count() > before) return sink.first_error();
  for (size_t i = 0; i < inputs.size(); ++i)
    graph.set_type(graph.inputs()[i], std::move(inputs[i].type));
  infer_graph(graph, sink);
  if (sink.error_count() > before) return sink.first_error();
  return {};
}

}  // namespace ec
