// fold-input and prepare: what has to happen before passes change the graph.
#include "driver/phases.h"

#include "driver/quantize_request.h"
#include "passes/widen_halves.h"
#include "quantize/strategy/predict.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/run_time_rounding.h"
#include "quantize/target/target_spec.h"

namespace ec {

namespace {

// `check` of a float model on a target of integers judges the form that quantisation would give it.
bool predicts_integers(const Compilation& c, const Graph& graph) {
  const quantize::TargetSpec* rules = c.target()->integer_rules();
  if (c.verb() != Verb::Check || c.options().is_given("quantize") || rules == nullptr) return false;
  return rules->integers_only && !quantize::has_quantized_tensors(graph);
}

}  // namespace

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
    EC_CHECK_OK(widen_halves(*model.graph));
    for (const Tensor* input : model.graph->inputs())
      model.facts.inputs.push_back({input->name(), input->type()});
    const quantize::TargetSpec* rules = compilation.target()->integer_rules();
    size_t rounded_at_run_time = 0;
    if (rules != nullptr) {
      EC_TRY(rounded_at_run_time, quantize::drop_run_time_rounding(*model.graph));
    }
    model.facts.recorded = quantize::record_weights(*model.graph);
    model.strategy = asked;
    // A model that carries its quantisation keeps it, unless something else is asked for.
    if (!compilation.options().is_given("quantize") && asked == nullptr && rules != nullptr &&
        quantize::has_rounding_pairs(*model.graph))
      model.strategy = strategy_of_carried_parameters(compilation.registry());
    if (rounded_at_run_time > 0 && !compilation.options().is_given("quantize") &&
        model.strategy == nullptr && rules->describe_weights != nullptr) {
      EC_TRY(model.strategy, compilation.registry().find_strategy("dynamic"));
      compilation.sink().report(
          quantize::run_time_rounding_remark(rounded_at_run_time, compilation.target()->name()));
    }
    if (model.strategy == nullptr && predicts_integers(compilation, *model.graph))
      model.strategy = &quantize::predicted_integers();
    if (model.strategy != nullptr && model.strategy->uses_recorded_parameters)
      EC_CHECK_OK(quantize::expose_rounding(*model.graph));
  }
  return {};
}

}  // namespace ec
