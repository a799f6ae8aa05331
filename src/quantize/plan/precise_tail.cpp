#include "quantize/plan/precise_tail.h"

#include <algorithm>

#include "ops/op_def.h"
#include "quantize/trial/trial.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

constexpr const char* kReason = "decodes the floats that the caller takes";

bool has_weights(const Operation& op, const Plan& plan) {
  for (size_t i = 0; i < op.inputs().size(); ++i)
    if (op.input(i) != nullptr && plan.of(&op).rule.role(i) == OperandRole::Weights) return true;
  return false;
}

// Operations that decoders are made of.
bool decodes(const Operation& op, const Plan& plan) {
  if (op.def().traits.elementwise || op.def().traits.view || plan.of(&op).rule.moves_data)
    return true;
  return op.kind() == OpKind::Softmax || op.kind() == OpKind::Concat;
}

size_t num_activations(const Operation& op) {
  return static_cast<size_t>(std::count_if(
      op.inputs().begin(), op.inputs().end(),
      [](const Tensor* operand) { return operand != nullptr && !operand->is_constant(); }));
}

class Tail {
 public:
  Tail(const Graph& graph, const Plan& plan)
      : graph_(graph), plan_(plan), total_(cost_of_run(graph)) {
    inside_.resize(graph.operation_id_bound(), false);
  }

  PreciseOutputs find() {
    PreciseOutputs precise;
    double cost = 0;
    const std::vector<const Operation*> order = [&] {
      const auto operations = graph_.topological();
      return std::vector<const Operation*>(operations.begin(), operations.end());
    }();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Operation& op = **it;
      if (!is_read_by_tail_only(op)) continue;
      // A fused activation is a part of its layer.
      if (fused_into(graph_, plan_, op) != nullptr) continue;
      if (joins(op)) {
        inside_[op.id()] = true;
        cost += cost_of(op);
        if (plan_.of(&op).integer) precise.choices[op.id()] = {Precision::Float, kReason, true};
      }
    }
    if (precise.choices.empty() || cost > tuning::kPreciseTailCost * total_) return {};
    // A single chain, as classifiers end in, is what precise_outputs() is for.
    if (std::none_of(order.begin(), order.end(), [&](const Operation* op) {
          return inside_[op->id()] && num_activations(*op) > 1;
        }))
      return {};
    for (const Operation* op : order)
      if (inside_[op->id()]) widen_layers_before(*op, precise.choices);
    return precise;
  }

 private:
  bool joins(const Operation& op) const {
    if (op.outputs().empty() || op.output()->dtype() != DType::F32) return false;
    // The sum over bins of a distribution is written as a convolution with a handful of weights.
    if (has_weights(op, plan_)) return cost_of(op) <= tuning::kTinyLayer * total_;
    return decodes(op, plan_);
  }

  bool is_read_by_tail_only(const Operation& op) const {
    bool read = false;
    for (const Tensor* output : op.outputs()) {
      read |= graph_.is_output(output) || !output->uses().empty();
      for (const Use& use : output->uses())
        if (!inside_[use.op->id()]) return false;
    }
    return read;
  }

  void widen_layers_before(const Operation& op, std::map<uint32_t, Choice>& choices) const {
    for (const Tensor* operand : op.inputs()) {
      const Operation* layer = operand != nullptr ? operand->producer() : nullptr;
      if (layer == nullptr || inside_[layer->id()]) continue;
      if (const Operation* owner = fused_into(graph_, plan_, *layer)) layer = owner;
      const OpPlan& planned = plan_.of(layer);
      if (!planned.integer || planned.width == Width::Wide || !has_weights(*layer, plan_)) continue;
      const bool read_elsewhere =
          std::any_of(operand->uses().begin(), operand->uses().end(),
                      [&](const Use& use) { return !inside_[use.op->id()]; });
      if (read_elsewhere || !plan_.target->has_wide ||
          cost_of(*layer) > tuning::kPreciseLayerCost * total_ ||
          !plan_.target->describe(*layer, Width::Wide).integer)
        continue;
      choices[layer->id()] = {Precision::Wide, {}, true};
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const double total_;
  std::vector<bool> inside_;  // by operation id
};

}  // namespace

PreciseOutputs precise_tail(const Graph& graph, const Plan& plan) {
  if (plan.target->integers_only) return {};
  return Tail(graph, plan).find();
}

}  // namespace ec::quantize
