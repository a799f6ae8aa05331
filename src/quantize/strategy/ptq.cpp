// The steps of post-training quantisation that need no trial runs.
#include "quantize/strategy/ptq.h"

#include <fmt/format.h>

#include "quantize/measure/error_causes.h"
#include "quantize/measure/kept_in_float.h"
#include "quantize/measure/layer_noise.h"
#include "quantize/rescale/rescale.h"
#include "quantize/strategy/accuracy_budget.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/predict.h"
#include "quantize/tuning.h"
#include "support/strings.h"

namespace ec::quantize::ptq {
namespace {

Status refuse_quantized(const Graph& graph) {
  if (!has_quantized_tensors(graph)) return {};
  return Error(Code::Usage, "the model is quantised already")
      .hint("leave --quantize out: its scales are kept as they are");
}

// Tells whoever finds the file later how to feed it.
void describe_in_metadata(QuantizeContext& context) {
  const QuantizeReport& report = context.report();
  auto& metadata = context.result.graph->metadata();
  metadata["quantization"] =
      fmt::format("{} {}, {} calibration of {} samples", report.strategy,
                  context.strategy.wide_activations ? "int16 activations, int8 weights" : "int8",
                  report.method, report.calibration_samples);
  if (!report.preprocessing.empty()) metadata["preprocessing"] = report.preprocessing;
}

}  // namespace

Status begin(QuantizeContext& context) {
  const QuantizeRequest& request = context.request;
  const bool wide = context.strategy.wide_activations;
  if (wide && !request.target->has_wide)
    return Error(Code::Usage, fmt::format("target '{}' has no operations with 16-bit activations",
                                          request.target->name))
        .hint("use --quantize ptq, or another target");
  EC_CHECK_OK(refuse_quantized(*context.graph));
  EC_CHECK_OK(check_budget_without_samples(context));
  // 16 bits have room for the extremes.
  const std::string_view usual = wide ? "minmax" : all_observer_methods()[0].name;
  context.method = find_observer_method(request.method.empty() ? usual : request.method);
  if (context.method == nullptr)
    return Error(Code::Usage, fmt::format("no calibration method '{}'", printable(request.method)))
        .hint("known: " + observer_method_names());
  context.report().method = context.method->name;
  // Arrays are taken as they are.
  if (request.samples->holds_images())
    context.report().preprocessing = request.preprocessing.text();
  context.plan_options.width = wide ? Width::Wide : Width::Narrow;
  context.plan_options.weights_per_tensor = request.weights_per_tensor;
  context.plan_options.pixel_input = request.pixel_input;
  return {};
}

Status analyse(QuantizeContext& context) {
  context.update_plan();
  context.split = split_samples(context.request.samples->size(), context.request.wanted_samples);
  return find_meaning(context, context.split.calibration);
}

Status rescale(QuantizeContext& context) {
  if (context.strategy.wide_activations) return {};
  EC_TRY(Rescaled rescaled,
         rescale_channels(*context.graph, context.reference, context.plan_options, context.request,
                          context.split.calibration));
  for (MethodGain& gain : rescaled.gains) context.report().methods.push_back(std::move(gain));
  if (rescaled.graph == nullptr) return {};
  context.use_graph(std::move(rescaled.graph), std::move(rescaled.reference));
  context.update_plan();
  return {};
}

Status convert_graph(QuantizeContext& context) {
  count_operations(*context.graph, context.plan, context.report());
  warn_kept_in_float(context.report(), context.sink);
  return convert_to_integers(context);
}

Status report(QuantizeContext& context) {
  const QuantizeRequest& request = context.request;
  const Graph& graph = *context.graph;
  AccuracyReport& accuracy = context.report().accuracy;
  // The same values as in the graph of the result, in another form: with a float tensor behind
  // every quantised one, so that both runs can be compared layer by layer.
  EC_TRY(const Conversion simulated, convert(graph, context.plan, context.params, context.weights,
                                             IoType::Float, GraphForm::Simulated));
  EC_TRY(accuracy, measure_accuracy({graph, context.plan, simulated, context.params,
                                     context.calibration.needed, context.reference->meaning()},
                                    *request.samples, context.split.held_out, request.threads));
  accuracy.held_out = !context.split.overlap;
  if (accuracy.task) tasks::warn_of_few_answers(*accuracy.task, context.sink);
  // Few samples suffice for shares; the runs of a deep network are bounded.
  const auto layers = static_cast<size_t>(context.report().integer_ops);
  if (request.high_effort || layers <= tuning::kMostLayersWithShares) {
    context.trial->keep_samples(
        std::max<size_t>(1, tuning::kShareRuns / std::max<size_t>(1, layers)));
    EC_TRY(const std::vector<double> noise,
           layer_noise(graph, context.plan, context.params, context.weights, *context.trial));
    fill_shares(accuracy, noise);
  }
  name_causes(graph, context.plan, context.calibration, context.params, accuracy);
  describe_in_metadata(context);
  return {};
}

}  // namespace ec::quantize::ptq
