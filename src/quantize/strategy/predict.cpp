#include "quantize/strategy/predict.h"

#include "quantize/strategy/context.h"

namespace ec::quantize {
namespace {

Status begin(QuantizeContext& context) {
  context.report().method = "assumed";
  context.plan_options.weights_per_tensor = context.request.weights_per_tensor;
  context.plan_options.pixel_input = context.request.pixel_input;
  return {};
}

Status analyse(QuantizeContext& context) {
  context.update_plan();
  return {};
}

Status assume_ranges(QuantizeContext& context) {
  const Graph& graph = *context.graph;
  Ranges ranges;
  ranges.assign(graph.tensor_id_bound(), Range{-1.0f, 1.0f});
  EC_TRY(context.params, assign_parameters(graph, context.plan, ranges));
  context.weights = round_weights(graph, context.plan, context.params);
  return {};
}

constexpr Step kSteps[] = {
    {"analyse", "which operations become integer, and which tensors share parameters", analyse},
    {"assume", "the same range for every activation", assume_ranges},
    {"convert", "integer operations; quantize and dequantize at the borders", convert_to_integers},
    {"verify", "the rules that quantised graphs keep", verify_result},
};

constexpr Strategy kPrediction{.name = "predicted",
                               .summary = "the form of the integer graph, with assumed ranges",
                               .steps = kSteps,
                               .begin = begin,
                               .samples = SampleUse::Unused,
                               .predicts = true};

}  // namespace

bool has_quantized_tensors(const Graph& graph) {
  for (const Tensor* tensor : graph.tensors())
    if (tensor->type().quant) return true;
  return false;
}

const Strategy& predicted_integers() { return kPrediction; }

}  // namespace ec::quantize
