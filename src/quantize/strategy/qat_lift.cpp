// Step `lift`: the quantize-dequantize pairs of a float graph become parameters of the tensors that
// they round.
#include <cmath>
#include <ranges>

#include "ops/clamp.h"
#include "ops/op_def.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/qat.h"
#include "quantize/tuning.h"

namespace ec::quantize::qat {
namespace {

// A pair that rounds an activation, with the same parameters on both sides.
std::optional<PairParams> pair_of(const Operation& dequantize) {
  if (dequantize.kind() != OpKind::Dequantize) return std::nullopt;
  const Operation* quantize = dequantize.input(0)->producer();
  if (quantize == nullptr || quantize->kind() != OpKind::Quantize) return std::nullopt;
  const auto there = constant_params(*quantize), back = constant_params(dequantize);
  if (!there || !back || there->dtype != back->dtype || there->params != back->params ||
      there->params.scales.size() != 1)
    return std::nullopt;
  PairParams params = *there;
  params.params.axis = -1;
  // 16 bits are symmetric on every target that has them.
  if (params.dtype == DType::I32 ||
      (params.dtype == DType::I16 && params.params.zero_points[0] != 0))
    return std::nullopt;
  return params;
}

// A range of fewer steps than the type has (7 of 8 bits) clips before it rounds. Converters of
// training tools leave that out, as values beyond are steps too. Where it may be relu6 it becomes
// that. Gives the tensor that has the parameters.
Tensor* without_range_clip(Graph& graph, Tensor* rounded, const PairParams& params) {
  Operation* clip = rounded->producer();
  if (clip == nullptr || clip->kind() != OpKind::Clip || !graph.has_single_use(rounded))
    return rounded;
  const auto scale = static_cast<double>(params.params.scales[0]);
  const auto low_bound = static_cast<double>(clip_bound(*clip, 1, -INFINITY));
  const auto high_bound = static_cast<double>(clip_bound(*clip, 2, INFINITY));
  const auto level = [&](double bound) { return bound / scale + params.params.zero_points[0]; };
  const auto is_step = [](double value) {
    return std::abs(value - std::nearbyint(value)) < tuning::kWholeStep;
  };
  const double low = level(low_bound), high = level(high_bound);
  if (std::nearbyint(low) != static_cast<double>(lowest_integer(params.dtype)) || !is_step(low) ||
      !is_step(high) || std::nearbyint(high) >= static_cast<double>(highest_integer(params.dtype)))
    return rounded;
  constexpr double kSix = 6;
  if (low_bound == 0 && std::abs(high_bound - kSix) < tuning::kWholeStep * kSix) {
    graph.set_operand(clip, 2, graph.add_scalar("", DType::F32, kSix));
    return rounded;
  }
  Tensor* exact = clip->input(0);
  graph.replace_all_uses(rounded, exact);
  graph.erase(clip);
  return exact;
}

}  // namespace

Status lift(QuantizeContext& context) {
  context.use_graph(context.graph->clone());
  Graph& graph = *context.changed_graph;
  std::vector<std::optional<PairParams>>& recorded = context.recorded_params;
  recorded.resize(graph.tensor_id_bound());
  size_t lifted = 0;
  for (Operation* op : graph.topological()) {
    const std::optional<PairParams> params = pair_of(*op);
    if (!params) continue;
    Tensor* exact = without_range_clip(graph, op->input(0)->producer()->input(0), *params);
    // A second pair with other parameters stays as it is.
    if (recorded[exact->id()] && recorded[exact->id()]->params != params->params) continue;
    recorded[exact->id()] = params;
    graph.replace_all_uses(op->output(), exact);
    ++lifted;
  }
  if (lifted == 0)
    return Error(Code::NoTrainedRanges,
                 "the model rounds no activation: it was not quantised, or "
                 "lost its parameters on export")
        .hint(
            "use --quantize ptq --calibration-data FOLDER, or export the model with "
            "QuantizeLinear and DequantizeLinear");
  const std::vector<Operation*> order = graph.topological();
  for (Operation* op : order | std::views::reverse)
    if ((op->kind() == OpKind::Quantize || op->kind() == OpKind::Dequantize) &&
        graph.is_unused(op->output()))
      graph.erase(op);
  return {};
}

}  // namespace ec::quantize::qat
