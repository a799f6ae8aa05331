// The steps of post-training quantisation that round weights, improve them, and raise layers until
// the asked accuracy holds.
#include <fmt/format.h>

#include <algorithm>

#include "ops/op_def.h"
#include "quantize/measure/layer_noise.h"
#include "quantize/strategy/accuracy_budget.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/ptq.h"
#include "quantize/tuning.h"
#include "quantize/weights/adapt_rounding.h"
#include "quantize/weights/correct_bias.h"

namespace ec::quantize::ptq {
namespace {

Result<std::vector<OutputError>> errors_with(QuantizeContext& context,
                                             const LayerWeights& weights) {
  const Rounding rounding = round_all(*context.graph, context.plan, context.params, weights);
  std::vector<OutputError> errors;
  for (size_t subset = 0; subset < context.trial->num_subsets(); ++subset) {
    EC_TRY(const OutputError error, context.trial->measure_subset(rounding, subset));
    errors.push_back(error);
  }
  return errors;
}

// Measures what a scale for each channel of the weights is worth.
Status report_channels(QuantizeContext& context) {
  const auto layers =
      std::count_if(context.weights.begin(), context.weights.end(),
                    [](const auto& weights) { return weights && weights->params.per_channel(); });
  if (layers == 0) return {};
  PlanOptions options = context.plan_options;
  options.weights_per_tensor = true;
  const Plan plan = make_plan(*context.graph, *context.request.target, options);
  EC_TRY(const std::vector<OutputError> joined,
         errors_with(context, round_weights(*context.graph, plan, context.params)));
  context.report().methods.push_back({"per-channel-weights", true, sum_of(joined).sqnr_db(),
                                      sum_of(context.errors).sqnr_db(),
                                      fmt::format("a scale for each channel, {} layers", layers)});
  return {};
}

struct WeightMethod {
  std::string name, note;
  Switch wanted = Switch::Auto;
  tuning::NoiseFactors keep = tuning::kKeepChange;
};

// Takes what a method makes of the weights where it is asked for or measured to help.
Status improve_weights(QuantizeContext& context, const WeightMethod& method,
                       const std::function<Result<LayerWeights>()>& make) {
  if (method.wanted == Switch::Off) return {};
  EC_TRY(LayerWeights tried, make());
  MethodGain gain{method.name, false, 0, 0, method.note};
  EC_TRY(std::vector<OutputError> after, errors_with(context, tried));
  gain.before_db = sum_of(context.errors).sqnr_db();
  gain.after_db = sum_of(after).sqnr_db();
  gain.applied = method.wanted == Switch::On || is_better(after, context.errors, method.keep);
  context.report().methods.push_back(gain);
  if (!gain.applied) return {};
  context.weights = std::move(tried);
  context.errors = std::move(after);
  return {};
}

Result<LayerWeights> adapted_weights(QuantizeContext& context) {
  const Graph& graph = *context.graph;
  AdaptRoundingOptions options;
  options.inputs.threads = context.request.threads;
  EC_TRY(const LayerWeights adapted,
         adapt_rounding(graph, round_weights(graph, context.plan, context.params),
                        *context.request.samples,
                        evenly_spaced(context.split.calibration, tuning::kAdaptSamples), options));
  return correct_biases(graph, context.plan, context.calibration, adapted);
}

// Adapting the rounding takes no longer than the rest, or is asked for.
bool may_adapt(const QuantizeContext& context, const LayerWeights& weights) {
  const Switch wanted = context.request.methods.adapt_rounding;
  if (wanted != Switch::Auto) return wanted == Switch::On;
  return context.request.high_effort ||
         adapting_cost(*context.graph, weights, {}) <= tuning::kAdaptCost;
}

// Whether the rounding of weights causes a considerable share of the noise.
Result<bool> adapting_may_help(QuantizeContext& context) {
  if (!may_adapt(context, context.weights)) return false;
  EC_TRY(const std::vector<OutputError> exact,
         errors_with(context, LayerWeights(context.weights.size())));
  return sum_of(exact).judged < tuning::kExactWeightsNoise * sum_of(context.errors).judged;
}

BudgetCase budget_case(const QuantizeContext& context) {
  return {*context.graph,
          *context.request.target,
          context.plan,
          context.plan_options,
          context.calibration,
          context.request.samples,
          context.split.held_out,
          {},
          context.request.threads,
          context.reference->meaning()};
}

// Samples that --max-drop has to hold on together with those kept apart. Classes of single samples
// are counted on these alone, as they always were.
std::vector<size_t> samples_beside(const QuantizeContext& context) {
  const auto& task = context.reference->meaning().task;
  if (context.split.overlap || task == nullptr || task->task() == tasks::Task::Classification)
    return {};
  return evenly_spaced(context.split.calibration, tuning::kBudgetSamples);
}

// What layers lose by themselves, on so many samples that ranking takes no more runs than choosing
// ranges may.
Result<std::vector<double>> ranked_layers(QuantizeContext& context) {
  const Graph& graph = *context.graph;
  const auto layers = static_cast<size_t>(std::ranges::count_if(
      graph.topological(), [&](const Operation* op) { return makes_noise(*op, context.plan); }));
  context.trial->keep_telling_samples(
      std::max<size_t>(1, trial_runs(context) / std::max<size_t>(1, layers)));
  return layer_noise(graph, context.plan, context.params, context.weights, *context.trial);
}

void report_raised(QuantizeContext& context, const BudgetResult& result) {
  const Graph& graph = *context.graph;
  for (const uint32_t id : result.raised) {
    const Operation* op = graph.operation(id);
    const bool wide = result.options.chosen.at(id).precision == Precision::Wide;
    context.report().raised.push_back(
        {std::string(op->location().name()), std::string(op->def().name),
         wide ? "16-bit activations" : "float", cost_of(*op) / std::max(1.0, cost_of_run(graph)),
         !wide && context.request.target->integers_only});
  }
}

}  // namespace

Status make_weights(QuantizeContext& context) {
  const Graph& graph = *context.graph;
  context.weights = round_weights(graph, context.plan, context.params);
  for (const Operation* op : graph.topological())
    if (const auto& weights = context.weights[op->id()]; weights && weights->widened)
      context.report().widened_weights.push_back(op->input(weights->operand)->name());
  EC_TRY(context.errors, errors_with(context, context.weights));
  EC_CHECK_OK(report_channels(context));
  EC_CHECK_OK(improve_weights(
      context,
      {"correct-bias", "mean error of rounded weights", context.request.methods.correct_bias},
      [&]() -> Result<LayerWeights> {
        return correct_biases(graph, context.plan, context.calibration, context.weights);
      }));
  const Switch adapt = context.request.methods.adapt_rounding;
  if (adapt == Switch::Auto) {
    EC_TRY(const bool promising, adapting_may_help(context));
    if (!promising) return {};
  }
  return improve_weights(context,
                         {"adapt-rounding", "weights rounded for the results of their layer", adapt,
                          tuning::kKeepAdapted},
                         [&] { return adapted_weights(context); });
}

Status check_limit(QuantizeContext& context) {
  if (!context.request.budget.asked()) return {};
  const WeightMethods methods{
      context.request.methods.correct_bias != Switch::Off,
      [&](const LayerWeights& weights) { return may_adapt(context, weights); }};
  BudgetCase of = budget_case(context);
  const std::vector<size_t> also = samples_beside(context);
  of.also = also;
  return check_reach(of, methods, context.request.budget);
}

Status keep_budget(QuantizeContext& context) {
  const QuantizeRequest& request = context.request;
  if (!request.budget.asked()) return {};
  BudgetCase of = budget_case(context);
  const std::vector<size_t> also = samples_beside(context);
  of.also = also;
  BudgetSearch search{context.weights, [&] { return ranked_layers(context); }};
  search.may_correct_biases = request.methods.correct_bias != Switch::Off;
  if (may_adapt(context, context.weights)) search.adapt = [&] { return adapted_weights(context); };
  EC_TRY(BudgetResult result, meet_budget(of, search, request.budget));
  report_raised(context, result);
  if (result.raised.empty()) return {};
  context.plan_options = std::move(result.options);
  context.plan = std::move(result.plan);
  context.params = std::move(result.params);
  context.weights = std::move(result.weights);
  return open_trial(context);
}

}  // namespace ec::quantize::ptq
