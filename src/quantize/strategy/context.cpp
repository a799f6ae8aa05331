#include "quantize/strategy/context.h"

namespace ec::quantize {

QuantizeContext::QuantizeContext(const Strategy& running, const Graph& source,
                                 const QuantizeRequest& asked, DiagnosticSink& messages)
    : strategy(running),
      request(asked),
      sink(messages),
      graph(&source),
      reference(std::make_shared<ReferenceOutputs>(OutputMeaning{parts_of_graph(source)})) {
  report().strategy = strategy.name;
  report().target = request.target->name;
  report().io_type = io_type_name(request.io);
  plan_options.integer_outputs = request.io != IoType::Float;
  plan_options.keep_float = request.keep_float;
}

void QuantizeContext::use_graph(std::unique_ptr<Graph> changed,
                                std::shared_ptr<ReferenceOutputs> outputs) {
  changed_graph = std::move(changed);
  graph = changed_graph.get();
  if (outputs == nullptr) outputs = std::make_shared<ReferenceOutputs>(reference->meaning());
  reference = std::move(outputs);
}

void QuantizeContext::update_plan() { plan = make_plan(*graph, *request.target, plan_options); }

}  // namespace ec::quantize
