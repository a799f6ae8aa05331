#include "quantize/strategy/qdq_parameters.h"

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "passes/folding.h"
#include "passes/rewriter.h"
#include "quantize/ranges/parameters.h"
#include "quantize/strategy/qdq_pairs.h"
#include "quantize/strategy/unequal_pairs.h"
#include "quantize/tuning.h"
#include "support/budget.h"
#include "support/rounding.h"

namespace ec::quantize {
namespace {

template <class T>
std::vector<int32_t> as_ints(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

std::optional<std::vector<int32_t>> zero_points(const Tensor* tensor, size_t count) {
  if (tensor == nullptr) return std::vector<int32_t>(count, 0);
  if (!tensor->is_constant()) return std::nullopt;
  switch (tensor->dtype()) {
    case DType::I8:
      return as_ints<int8_t>(*tensor);
    case DType::U8:
      return as_ints<uint8_t>(*tensor);
    case DType::I16:
      return as_ints<int16_t>(*tensor);
    case DType::U16:
      return as_ints<uint16_t>(*tensor);
    case DType::I32:
      return as_ints<int32_t>(*tensor);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<PairParams> stored_params(const Operation& op) {
  const bool quantize = op.kind() == OpKind::Quantize;
  if (!quantize && op.kind() != OpKind::Dequantize) return std::nullopt;
  const Tensor* scale = op.input(1);
  if (scale == nullptr || !scale->is_constant() || scale->dtype() != DType::F32)
    return std::nullopt;
  PairParams result;
  const auto scales = scale->values<float>();
  result.params.scales.assign(scales.begin(), scales.end());
  std::optional<std::vector<int32_t>> zeros = zero_points(op.input(2), scales.size());
  if (!zeros || zeros->size() != scales.size()) return std::nullopt;
  result.params.zero_points = std::move(*zeros);
  const int64_t axis =
      quantize ? op.attrs_as<QuantizeAttrs>().axis : op.attrs_as<DequantizeAttrs>().axis;
  const int64_t block = quantize ? op.attrs_as<QuantizeAttrs>().block_size
                                 : op.attrs_as<DequantizeAttrs>().block_size;
  if (block != 0) return std::nullopt;
  result.params.axis =
      scales.size() > 1 || scale->shape()->rank() > 0 ? static_cast<int32_t>(axis) : int32_t{-1};
  result.dtype = quantize ? op.output()->dtype() : op.input(0)->dtype();
  return result;
}

std::optional<PairParams> constant_params(const Operation& op) {
  std::optional<PairParams> result = stored_params(op);
  if (!result) return std::nullopt;
  const auto shift = [&](DType to, int32_t by) {
    result->dtype = to;
    for (int32_t& zero : result->params.zero_points) zero -= by;
  };
  switch (result->dtype) {
    case DType::I8:
    case DType::I16:
    case DType::I32:
      return result;
    case DType::U8:
      shift(DType::I8, 128);
      return result;
    case DType::U16:
      shift(DType::I16, 32768);
      return result;
    default:
      return std::nullopt;
  }
}

bool are_steps(std::span<const float> values, const QuantParams& params, DType dtype) {
  if (params.scales.size() != 1) return false;
  const auto scale = static_cast<double>(params.scales[0]);
  const auto low = static_cast<double>(lowest_integer(dtype));
  const auto high = static_cast<double>(highest_integer(dtype));
  return std::ranges::all_of(values, [&](float value) {
    const double steps = static_cast<double>(value) / scale;
    const double nearest = round_half_away(steps);
    const double stored = nearest + params.zero_points[0];
    return std::abs(steps - nearest) < tuning::kWholeStep && stored >= low && stored <= high;
  });
}

namespace {

// A dequantize of stored integers, or of real weights that are rounded first (fake quantisation).
bool gives_constant(const Operation& op) {
  if (op.kind() != OpKind::Dequantize) return false;
  const Tensor* stored = op.input(0);
  if (stored->is_constant()) return true;
  const Operation* before = stored->producer();
  return before != nullptr && before->kind() == OpKind::Quantize &&
         before->input(0)->is_constant() && before->input(0)->dtype() == DType::F32 &&
         constant_params(*before).has_value();
}

}  // namespace

RecordedWeights record_weights(const Graph& graph) {
  RecordedWeights recorded;
  for (const Operation* op : graph.topological()) {
    if (!gives_constant(*op)) continue;
    const std::optional<PairParams> found = constant_params(*op);
    if (!found || found->dtype != DType::I8) continue;
    // Through reshapes and transposes that exporters put in front of linear layers.
    const Tensor* weights = op->output();
    while (weights->uses().size() == 1 &&
           (weights->uses().front().op->kind() == OpKind::Transpose ||
            weights->uses().front().op->kind() == OpKind::Reshape))
      weights = weights->uses().front().op->output();
    for (const Use& use : weights->uses())
      if (use.index == 1)
        for (const std::string& name : use.op->location().nodes)
          recorded.emplace(name, found->params);
  }
  return recorded;
}

namespace {

bool take_steps(const Tensor& weights, int32_t axis, const QuantParams& recorded,
                IntegerWeights& layer) {
  const std::vector<int64_t> shape = weights.shape()->sizes();
  QuantParams params{recorded.scales, std::vector<int32_t>(recorded.scales.size(), 0), axis};
  if (params.scales.size() == 1 && axis >= 0) {
    // One scale for all channels is the same scale for each.
    params.scales.assign(num_channels(shape, axis), recorded.scales[0]);
    params.zero_points.assign(params.scales.size(), 0);
  }
  if (axis < 0 && params.scales.size() != 1) return false;
  if (params.scales.size() != num_channels(shape, axis)) return false;
  const auto values = weights.values<float>();
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

bool take_recorded(const RecordedWeights& recorded, const Operation& op, int32_t axis,
                   IntegerWeights& layer) {
  return std::ranges::any_of(op.location().nodes, [&](const std::string& name) {
    const auto found = recorded.find(name);
    return found != recorded.end() &&
           take_steps(*op.input(layer.operand), axis, found->second, layer);
  });
}

namespace {

template <class T>
std::vector<float> real_values(const Tensor& stored, const QuantParams& params, int32_t shift) {
  const auto values = stored.values<T>();
  std::vector<float> reals(values.size());
  for_each_channel_run(stored.shape()->sizes(), params.axis, [&](size_t c, size_t at, size_t n) {
    const size_t k = params.scales.size() == 1 ? 0 : c;
    const auto zero = static_cast<int64_t>(params.zero_points[k]) + shift;
    for (size_t i = at; i < at + n; ++i)
      reals[i] = params.scales[k] * static_cast<float>(static_cast<int64_t>(values[i]) - zero);
  });
  return reals;
}

// Real weights to the nearest step and back.
std::vector<float> rounded_values(const Tensor& reals, const PairParams& pair) {
  const auto values = reals.values<float>();
  std::vector<float> rounded(values.size());
  const auto low = static_cast<double>(lowest_integer(pair.dtype));
  const auto high = static_cast<double>(highest_integer(pair.dtype));
  for_each_channel_run(
      reals.shape()->sizes(), pair.params.axis, [&](size_t c, size_t at, size_t n) {
        const size_t k = pair.params.scales.size() == 1 ? 0 : c;
        const auto scale = static_cast<double>(pair.params.scales[k]);
        const auto zero = static_cast<double>(pair.params.zero_points[k]);
        for (size_t i = at; i < at + n; ++i) {
          const double steps = round_half_even(static_cast<double>(values[i]) / scale) + zero;
          rounded[i] = static_cast<float>(scale * (std::clamp(steps, low, high) - zero));
        }
      });
  return rounded;
}

std::optional<std::vector<float>> real_constant(const Operation& dequantize) {
  std::optional<PairParams> found = constant_params(dequantize);
  if (!found || !gives_constant(dequantize) || dequantize.output()->dtype() != DType::F32)
    return std::nullopt;
  const Operation* before = dequantize.input(0)->producer();
  const Tensor& stored = before != nullptr ? *before->input(0) : *dequantize.input(0);
  if (found->params.scales.size() == 1) found->params.axis = -1;
  const auto rank = static_cast<int32_t>(stored.shape()->rank());
  if (found->params.axis >= rank) return std::nullopt;
  if (found->params.axis >= 0 &&
      num_channels(stored.shape()->sizes(), found->params.axis) != found->params.scales.size())
    return std::nullopt;
  if (before != nullptr) return rounded_values(stored, *found);
  switch (stored.dtype()) {
    case DType::I8:
      return real_values<int8_t>(stored, found->params, 0);
    case DType::U8:
      return real_values<uint8_t>(stored, found->params, 128);
    case DType::I16:
      return real_values<int16_t>(stored, found->params, 0);
    case DType::U16:
      return real_values<uint16_t>(stored, found->params, 32768);
    case DType::I32:
      return real_values<int32_t>(stored, found->params, 0);
    default:
      return std::nullopt;
  }
}

// Operations whose operand 0 is moved or chosen from, and nothing else holds real numbers.
bool moves_elements(OpKind kind) {
  switch (kind) {
    case OpKind::Identity:
    case OpKind::MaxPool:
    case OpKind::Reshape:
    case OpKind::Flatten:
    case OpKind::Squeeze:
    case OpKind::Unsqueeze:
    case OpKind::Expand:
    case OpKind::Tile:
    case OpKind::Transpose:
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Gather:
    case OpKind::Resize:
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth:
      return true;
    default:
      return false;
  }
}

// move(quantize(x)) becomes quantize(move(dequantize(quantize(x)))).
Status move_reals(Graph& graph, Operation* op) {
  const Operation* quantize = op->input(0)->producer();
  ec::OpSpec back;
  DequantizeAttrs attrs;
  attrs.axis = quantize->attrs_as<QuantizeAttrs>().axis;
  back.attrs = Attrs(attrs);
  back.location = op->location();
  EC_TRY(const Operation* dequantize,
         graph.add(OpKind::Dequantize, {op->input(0), quantize->input(1), quantize->input(2)},
                   std::move(back)));
  std::vector<Tensor*> operands = op->inputs();
  operands[0] = dequantize->output();
  ec::OpSpec moved;
  moved.attrs = op->attrs();
  moved.location = op->location();
  moved.num_outputs = op->outputs().size();
  EC_TRY(const Operation* real, graph.add(op->kind(), std::move(operands), std::move(moved)));
  for (size_t i = 0; i < op->outputs().size(); ++i) {
    ec::OpSpec again;
    again.attrs = quantize->attrs();
    again.location = op->location();
    EC_TRY(const Operation* rounded,
           graph.add(OpKind::Quantize, {real->output(i), quantize->input(1), quantize->input(2)},
                     std::move(again)));
    graph.replace_all_uses(op->output(i), rounded->output());
  }
  graph.erase(op);
  return {};
}

}  // namespace

namespace {

// The scale of a bias comes as a product of two constants.
void multiply_scale(Graph& graph, Operation* dequantize) {
  const Tensor* scale = dequantize->input(1);
  if (scale == nullptr || scale->producer() == nullptr) return;
  const Operation* product = scale->producer();
  if (product->kind() != OpKind::Mul || !scale->type().is_static()) return;
  for (const Tensor* factor : product->inputs())
    if (!factor->is_constant() || factor->dtype() != DType::F32) return;
  const auto a = product->input(0)->values<float>(), b = product->input(1)->values<float>();
  const size_t count = std::max(a.size(), b.size());
  if ((a.size() != count && a.size() != 1) || (b.size() != count && b.size() != 1)) return;
  std::vector<float> scales(count);
  for (size_t i = 0; i < count; ++i)
    scales[i] = a[a.size() == 1 ? 0 : i] * b[b.size() == 1 ? 0 : i];
  graph.set_operand(dequantize, 1,
                    graph.add_constant<float>(scale->name() + "_product", *scale->shape(),
                                              std::span<const float>(scales)));
}

}  // namespace

namespace {

// A dequantised constant as real numbers; false where it is none.
bool make_real(Graph& graph, Operation* op) {
  multiply_scale(graph, op);
  const std::optional<std::vector<float>> reals = real_constant(*op);
  if (!reals) return false;
  Tensor* constant = graph.add_constant<float>(op->output()->name(), *op->output()->shape(),
                                               std::span<const float>(*reals));
  graph.replace_all_uses(op->output(), constant);
  graph.erase(op);
  return true;
}

}  // namespace

Status expose_rounding(Graph& graph) {
  EC_CHECK_OK(equal_pairs(graph));
  for (Operation* op : graph.topological()) {
    if (op->kind() == OpKind::Dequantize) {
      make_real(graph, op);
      continue;
    }
    // The second result of a max pool holds indices.
    if (!moves_elements(op->kind()) || (op->kind() == OpKind::MaxPool && op->outputs().size() > 1))
      continue;
    const Operation* before = op->input(0)->producer();
    if (before == nullptr || before->kind() != OpKind::Quantize || before->input(1) == nullptr)
      continue;
    const std::optional<PairParams> params = constant_params(*before);
    if (params && params->params.scales.size() == 1) EC_CHECK_OK(move_reals(graph, op));
  }
  return {};
}

Status fold_rounding(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (Operation* op : graph.topological()) {
    EC_CHECK_OK(check_budget());
    if (op->kind() == OpKind::Dequantize)
      make_real(graph, op);
    else
      fold_constant(rewriter, op);
  }
  return {};
}

bool has_rounding_pairs(const Graph& graph) {
  for (const Operation* op : graph.topological()) {
    if (op->kind() != OpKind::Dequantize || !constant_params(*op)) continue;
    const Operation* before = op->input(0)->producer();
    if (before != nullptr && before->kind() == OpKind::Quantize && constant_params(*before))
      return true;
  }
  return false;
}

}  // namespace ec::quantize
