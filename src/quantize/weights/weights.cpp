#include "quantize/weights/weights.h"

namespace ec::quantize {
namespace {

std::optional<IntegerWeights> round_layer(const Operation& op, const OpPlan& entry,
                                          const FormParams& params) {
  IntegerWeights result;
  const Tensor *weights = nullptr, *bias = nullptr;
  for (size_t i = 0; i < op.inputs().size(); ++i) {
    if (op.input(i) == nullptr) continue;
    if (entry.rule.role(i) == OperandRole::Weights) {
      weights = op.input(i);
      result.operand = i;
    }
    if (entry.rule.role(i) == OperandRole::Bias) bias = op.input(i);
  }
  if (weights == nullptr) return std::nullopt;
  const std::vector<int64_t> shape = weights->shape()->sizes();
  const auto values = weights->values<float>();
  result.params = params_of_weights(values, shape, entry.rule.weights_axis);
  if (bias != nullptr) {
    const auto reals = bias->values<float>();
    result.bias.assign(reals.begin(), reals.end());
    // One bias for all channels serves them with one scale only.
    if (reals.size() != result.params.scales.size() && result.params.scales.size() > 1)
      result.params = params_of_weights(values, shape, -1);
    const QuantParams& input = *params[form_id(op.input(0)->id(), entry.width)];
    result.widened = fit_bias(result.params, input.scales, reals, entry.width);
  }
  result.values = quantize_values<int8_t>(values, shape, result.params, kLargestWeight);
  return result;
}

}  // namespace

LayerWeights round_weights(const Graph& graph, const Plan& plan, const FormParams& params) {
  LayerWeights weights(graph.operation_id_bound());
  for (const Operation* op : graph.topological())
    if (plan.of(op).integer) weights[op->id()] = round_layer(*op, plan.of(op), params);
  return weights;
}

std::vector<float> real_weights(const IntegerWeights& weights, const Tensor& constant) {
  std::vector<float> reals(weights.values.size());
  for_each_channel_run(constant.shape()->sizes(), weights.params.axis,
                       [&](size_t channel, size_t at, size_t count) {
                         for (size_t i = at; i < at + count; ++i)
                           reals[i] = weights.real(i, channel);
                       });
  return reals;
}

}  // namespace ec::quantize
