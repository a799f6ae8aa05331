// Step `lift`: the quantize-dequantize pairs of a float graph become parameters of the tensors that
// they round.
#include <cmath>
#include <ranges>

#include "ops/clamp.h"
#include "ops/op_def.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/qdq_pairs.h"
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

// --- pairs that no integer type of the targets has
// ------------------------------------------------

// A value for each index of an axis, or one, so that it broadcasts to a tensor of this rank.
Tensor* along_axis(Graph& graph, const std::vector<float>& values, int32_t axis, size_t rank) {
  if (values.size() == 1) return graph.add_scalar("", DType::F32, static_cast<double>(values[0]));
  std::vector<int64_t> sizes(rank, 1);
  sizes[static_cast<size_t>(axis)] = static_cast<int64_t>(values.size());
  return graph.add_constant<float>("", Shape::of(sizes), std::span<const float>(values));
}

// A pair as arithmetic on floats: scale * clip(round(x / scale)), between the first and the last
// step.
Status round_in_float(Graph& graph, Operation* dequantize) {
  const Operation* quantize = dequantize->input(0)->producer();
  if (quantize == nullptr || quantize->kind() != OpKind::Quantize) return {};
  const auto there = stored_params(*quantize), back = stored_params(*dequantize);
  Tensor* x = quantize->input(0);
  if (!there || there != back || x->dtype() != DType::F32 || !x->type().has_rank()) return {};
  const QuantParams& params = there->params;
  const size_t rank = x->shape()->rank();
  if (params.scales.size() > 1 && (params.axis < 0 || static_cast<size_t>(params.axis) >= rank))
    return {};
  std::vector<float> low, high;
  for (const int32_t zero : params.zero_points) {
    low.push_back(static_cast<float>(lowest_integer(there->dtype) - zero));
    high.push_back(static_cast<float>(static_cast<int64_t>(highest_integer(there->dtype)) - zero));
  }
  const auto constant = [&](const std::vector<float>& values) {
    return along_axis(graph, values, params.axis, rank);
  };
  Tensor* result = x;
  const auto add = [&](OpKind kind, Tensor* other) -> Status {
    ec::OpSpec spec;
    spec.location = dequantize->location();
    std::vector<Tensor*> operands{result};
    if (other != nullptr) operands.push_back(other);
    EC_TRY(const Operation* op, graph.add(kind, std::move(operands), std::move(spec)));
    result = op->output();
    return {};
  };
  EC_CHECK_OK(add(OpKind::Div, constant(params.scales)));
  EC_CHECK_OK(add(OpKind::Round, nullptr));
  EC_CHECK_OK(add(OpKind::Max, constant(low)));
  EC_CHECK_OK(add(OpKind::Min, constant(high)));
  EC_CHECK_OK(add(OpKind::Mul, constant(params.scales)));
  graph.replace_all_uses(dequantize->output(), result);
  return {};
}

class Lifting {
 public:
  explicit Lifting(QuantizeContext& context)
      : graph_(*context.changed_graph),
        recorded_(context.recorded_params),
        simulated_(context.request.form == GraphForm::Simulated) {}

  // The number of pairs that became parameters.
  Result<size_t> run() {
    size_t lifted = 0;
    for (Operation* op : graph_.topological()) {
      if (op->kind() != OpKind::Dequantize) continue;
      if (const std::optional<PairParams> params = pair_of(*op)) {
        EC_TRY(Tensor * rounded, with_parameters(*op, *params));
        graph_.replace_all_uses(op->output(), rounded);
        ++lifted;
      } else {
        EC_CHECK_OK(round_in_float(graph_, op));
      }
    }
    if (simulated_) return lifted;
    // What is left gives integers to others than a dequantize, or takes them from others than a
    // quantize.
    for (Operation* op : graph_.topological()) {
      if (graph_.is_unused(op->output())) continue;
      if (op->kind() == OpKind::Dequantize) EC_CHECK_OK(carry_by_operand(op));
      if (op->kind() == OpKind::Quantize) EC_CHECK_OK(carry_by_result(op));
    }
    return lifted;
  }

 private:
  // Parameters that a tensor of integers can carry itself.
  static std::optional<PairParams> carried(const Operation& op) {
    std::optional<PairParams> params = stored_params(op);
    if (!params || params->params.scales.size() != 1 || params->dtype == DType::I32 ||
        params->dtype == DType::U16)
      return std::nullopt;
    params->params.axis = -1;
    return params;
  }

  Status carry_by_operand(Operation* dequantize) {
    Tensor* input = dequantize->input(0);
    const std::optional<PairParams> params = carried(*dequantize);
    if (!params || dequantize->inputs().size() < 2 ||
        (input->type().quant && input->type().quant != params->params))
      return {};
    graph_.set_quant(input, params->params);
    ec::OpSpec spec;
    spec.attrs = dequantize->attrs();
    spec.location = dequantize->location();
    EC_TRY(const Operation* made, graph_.add_typed(OpKind::Dequantize, {input}, std::move(spec),
                                                   {dequantize->output()->type()}));
    recorded(made->output()) = constant_params(*dequantize);
    recorded(made->output())->params.axis = -1;
    graph_.replace_all_uses(dequantize->output(), made->output());
    return {};
  }

  Status carry_by_result(Operation* quantize) {
    const std::optional<PairParams> params = carried(*quantize);
    if (!params || quantize->inputs().size() < 2) return {};
    TensorType type = quantize->output()->type();
    type.quant = params->params;
    ec::OpSpec spec;
    spec.attrs = quantize->attrs();
    spec.location = quantize->location();
    EC_TRY(const Operation* made, graph_.add_typed(OpKind::Quantize, {quantize->input(0)},
                                                   std::move(spec), {std::move(type)}));
    graph_.replace_all_uses(quantize->output(), made->output());
    return {};
  }

  // The tensor that stands for the result of a pair: the exact one with the pair's parameters, or a
  // copy of it where it has others already.
  Result<Tensor*> with_parameters(const Operation& dequantize, const PairParams& params) {
    Tensor* exact = without_range_clip(graph_, dequantize.input(0)->producer()->input(0), params);
    if (!recorded(exact) || *recorded(exact) == params) {
      recorded(exact) = params;
      return exact;
    }
    ec::OpSpec spec;
    spec.location = dequantize.location();
    EC_TRY(const Operation* again, graph_.add(OpKind::Identity, {exact}, std::move(spec)));
    recorded(again->output()) = params;
    return again->output();
  }

  std::optional<PairParams>& recorded(const Tensor* tensor) {
    if (recorded_.size() < graph_.tensor_id_bound()) recorded_.resize(graph_.tensor_id_bound());
    return recorded_[tensor->id()];
  }

  Graph& graph_;
  std::vector<std::optional<PairParams>>& recorded_;
  const bool simulated_;  // pairs stay pairs in such a graph
};

}  // namespace

Status lift(QuantizeContext& context) {
  context.use_graph(context.graph->clone());
  Graph& graph = *context.changed_graph;
  EC_CHECK_OK(expose_rounding(graph));
  EC_TRY(const size_t lifted, Lifting(context).run());
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
