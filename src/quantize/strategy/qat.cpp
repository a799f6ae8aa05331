#include "quantize/strategy/qat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quantize/strategy/context.h"
#include "quantize/tuning.h"
#include "support/rounding.h"

namespace ec::quantize::qat {
namespace {

// True where the real weights are steps of these scales.
bool take(const Operation& op, int32_t axis, const QuantParams& recorded, IntegerWeights& layer) {
  const Tensor* weights = op.input(layer.operand);
  const std::vector<int64_t> shape = weights->shape()->sizes();
  QuantParams params{recorded.scales, std::vector<int32_t>(recorded.scales.size(), 0), axis};
  if (params.scales.size() == 1 && axis >= 0) {
    // One scale for all channels is the same scale for each.
    params.scales.assign(num_channels(shape, axis), recorded.scales[0]);
    params.zero_points.assign(params.scales.size(), 0);
  }
  if (axis < 0 && params.scales.size() != 1) return false;
  if (params.scales.size() != num_channels(shape, axis)) return false;
  const auto values = weights->values<float>();
  std::vector<int8_t> integers(values.size());
  bool exact = true;
  for_each_channel_run(shape, axis, [&](size_t c, size_t at, size_t n) {
    const auto scale = static_cast<double>(params.scales[c]);
    for (size_t i = at; i < at + n; ++i) {
      const double steps = static_cast<double>(values[i]) / scale;
      const double nearest = round_half_away(steps);
      exact &= std::abs(steps - nearest) < tuning::kWholeStep && nearest >= -128 && nearest <= 127;
      integers[i] = static_cast<int8_t>(std::clamp(nearest, -128.0, 127.0));
    }
  });
  if (!exact) return false;
  layer.params = std::move(params);
  layer.values = std::move(integers);
  layer.widened = false;
  return true;
}

}  // namespace

Status begin(QuantizeContext& context) {
  context.report().method = "as in the model";
  return {};
}

Status take_weights(QuantizeContext& context) {
  context.weights = round_weights(*context.graph, context.plan, context.params);
  size_t own = 0;
  for (const Operation* op : context.graph->topological()) {
    std::optional<IntegerWeights>& layer = context.weights[op->id()];
    if (!layer) continue;
    bool taken = false;
    for (const std::string& name : op->location().nodes) {
      const auto found = context.request.recorded.find(name);
      if (found == context.request.recorded.end()) continue;
      taken = take(*op, context.plan.of(op).rule.weights_axis, found->second, *layer);
      if (taken) break;
    }
    own += !taken;
  }
  if (own > 0)
    context.report().methods.push_back(
        {"weights", true, 0, 0,
         fmt::format("{} layers have weights that the model does not quantise; rounded to their "
                     "own range",
                     own)});
  return {};
}

Status convert_graph(QuantizeContext& context) {
  EC_CHECK_OK(convert_to_integers(context));
  context.result.graph->metadata()["quantization"] = "qat int8, parameters as in the model";
  return {};
}

}  // namespace ec::quantize::qat
