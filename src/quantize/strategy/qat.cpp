#include "quantize/strategy/qat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quantize/strategy/context.h"
#include "quantize/tuning.h"
#include "support/rounding.h"

namespace ec::quantize::qat {
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
    const bool taken =
        take_recorded(context.request.recorded, *op, context.plan.of(op).rule.weights_axis, *layer);
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
