// fold-input and prepare: what has to happen before passes change the graph.
#include "driver/phases.h"
#include "driver/quantize_request.h"
#include "quantize/strategy/qat.h"

namespace ec {

Status fold_input(Compilation& compilation) {
  if (!compilation.options().flag("fold-preprocessing")) return {};
  EC_TRY(const quantize::Preprocessing preprocessing, preprocessing_of(compilation.options()));
  EC_TRY(const quantize::Strategy* strategy, asked_strategy(compilation));
  const bool integers = strategy != nullptr && !strategy->float_activations;
  for (CompiledModel& model : compilation.models()) {
    EC_TRY(model.facts.folded,
           quantize::fold_preprocessing(
               *model.graph, preprocessing,
               integers ? quantize::PixelArithmetic::Integer : quantize::PixelArithmetic::Float));
  }
  return {};
}

Status prepare(Compilation& compilation) {
  EC_TRY(const quantize::Strategy* asked, asked_strategy(compilation));
  for (CompiledModel& model : compilation.models()) {
    for (const Tensor* input : model.graph->inputs())
      model.facts.inputs.push_back({input->name(), input->type()});
    model.facts.recorded = quantize::record_weights(*model.graph);
    model.strategy = asked;
    // A model that carries its quantisation keeps it, unless something else is asked for.
    if (!compilation.options().is_given("quantize") && asked == nullptr &&
        compilation.target()->integer_rules() != nullptr &&
        quantize::has_rounding_pairs(*model.graph))
      model.strategy = strategy_of_carried_parameters(compilation.registry());
    if (model.strategy != nullptr && model.strategy->uses_recorded_parameters)
      EC_CHECK_OK(quantize::expose_rounding(*model.graph));
  }
  return {};
}

}  // namespace ec
