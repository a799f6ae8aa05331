#include "quantize/plan/masked_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/trial/rounded_run.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

bool is_over_last_dimension(const Operation& op) {
  if (op.kind() != OpKind::Softmax || !op.input(0)->type().has_rank()) return false;
  const auto rank = static_cast<int64_t>(op.input(0)->shape()->rank());
  const int64_t axis = op.attrs_as<AxisAttrs>().axis;
  return axis == -1 || axis == rank - 1;
}

bool keeps_rows(const Operation& op) {
  if (op.kind() != OpKind::Reshape || !op.input(0)->type().is_static() ||
      !op.output()->type().is_static())
    return false;
  const auto from = op.input(0)->shape()->sizes(), to = op.output()->shape()->sizes();
  return !from.empty() && !to.empty() && from.back() == to.back();
}

bool stands_for_nothing(float value) { return value < tuning::kUnbounded; }

// What is put around something before its maxima are taken.
bool fills_for_maxima(const Operation& op) {
  if (op.kind() != OpKind::Pad || op.inputs().size() < 3 || op.output()->uses().empty())
    return false;
  const Tensor* filler = op.input(2);
  return filler != nullptr && filler->is_constant() && filler->dtype() == DType::F32 &&
         std::ranges::all_of(filler->values<float>(), stands_for_nothing) &&
         std::ranges::all_of(op.output()->uses(),
                             [](const Use& use) { return use.op->kind() == OpKind::MaxPool; });
}

void lift_scores(std::span<float> scores, size_t row, Width width) {
  if (row == 0) return;
  // All values that are lifted may together move a result by a small share of a step.
  const double steps = width == Width::Wide ? 0x1p15 : 0x1p8;
  const auto below =
      static_cast<float>(std::log(steps / tuning::kUnnoticed * static_cast<double>(row)));
  for (size_t at = 0; at + row <= scores.size(); at += row) {
    const std::span<float> one = scores.subspan(at, row);
    const float largest = *std::ranges::max_element(one);
    // A row that is masked as a whole has no score that matters.
    const float lowest = stands_for_nothing(largest) ? 0.0f : largest - below;
    for (float& score : one) score = std::max(score, lowest);
  }
}

}  // namespace

std::vector<Reading> readings_of(const Graph& graph) {
  std::vector<Reading> readings(graph.tensor_id_bound(), Reading::Whole);
  const std::vector<JudgedTensor> judged = judged_outputs(graph);
  const auto reads_scores = [&](const Use& use) {
    return is_over_last_dimension(*use.op) || (use.index == 0 && keeps_rows(*use.op) &&
                                               readings[use.op->output()->id()] == Reading::Scores);
  };
  const std::vector<Operation*> order = graph.topological();
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    for (const Tensor* tensor : (*it)->outputs()) {
      if (tensor->dtype() != DType::F32 || tensor->uses().empty() || graph.is_output(tensor) ||
          std::ranges::find(judged, tensor, &JudgedTensor::tensor) != judged.end())
        continue;
      if (std::ranges::all_of(tensor->uses(), reads_scores))
        readings[tensor->id()] = Reading::Scores;
      else if (fills_for_maxima(**it))
        readings[tensor->id()] = Reading::Maxima;
    }
  return readings;
}

bool is_masked(std::span<const float> values) {
  return std::ranges::any_of(values, stands_for_nothing) &&
         std::ranges::all_of(values, [](float v) { return std::isfinite(v) || v < 0; });
}

void lift_to_what_counts(std::span<float> values, Reading reading, size_t row, Width width) {
  if (reading == Reading::Scores) return lift_scores(values, row, width);
  float lowest = std::numeric_limits<float>::infinity();
  for (const float value : values)
    if (!stands_for_nothing(value)) lowest = std::min(lowest, value);
  if (!std::isfinite(lowest)) lowest = 0;
  for (float& value : values) value = std::max(value, lowest);
}

std::optional<Range> range_that_counts(const Tensor& constant, const Plan& plan,
                                       const Ranges& ranges) {
  if (constant.uses().empty()) return std::nullopt;
  float lowest = 0;
  for (const Use& use : constant.uses()) {
    const Operation& op = *use.op;
    if (!plan.of(&op).integer || fills_for_maxima(op)) continue;
    if (op.kind() != OpKind::Add || plan.reading[op.output()->id()] != Reading::Scores)
      return std::nullopt;
    const auto& sum = ranges[op.output()->id()];
    const auto& scores = ranges[op.input(op.input(0) == &constant ? 1 : 0)->id()];
    if (!sum || !scores) return std::nullopt;
    lowest = std::min(lowest, sum->min - scores->max);
  }
  bool finite = true;
  const Range own = range_of(constant.values<float>(), finite);
  return Range{std::max(own.min, lowest), std::max(own.max, lowest)};
}

bool keep_unbounded_in_float(const Graph& graph, const Plan& plan,
                             const std::vector<bool>& unbounded, PlanOptions& options) {
  bool any = false;
  std::vector<bool> in_float(graph.operation_id_bound(), false);
  for (const Operation* op : graph.topological()) {
    in_float[op->id()] = !plan.of(op).integer;
    if (in_float[op->id()]) continue;
    const auto needs_floats = [&](const Tensor* tensor) {
      if (tensor == nullptr || tensor->is_constant() || !unbounded[tensor->id()]) return false;
      if (plan.reading[tensor->id()] == Reading::Whole) return true;
      // Integer operations saturate. Rounding minus infinity to an integer is undefined.
      const Operation* producer = tensor->producer();
      return producer != op && in_float[producer->id()];
    };
    if (std::ranges::none_of(op->inputs(), needs_floats) &&
        std::ranges::none_of(op->outputs(), needs_floats))
      continue;
    in_float[op->id()] = any = true;
    options.chosen[op->id()] = {Precision::Float, "values without bound, as masks have them"};
  }
  return any;
}

}  // namespace ec::quantize
