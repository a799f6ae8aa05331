#include "quantize/plan/precise_outputs.h"

#include "quantize/trial/trial.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

constexpr const char* kReason = "gives the floats that the caller takes";

// Functions whose integer results have prescribed steps, 1/256 for probabilities.
bool ends_in_probabilities(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Softmax:
    case OpKind::LogSoftmax:
    case OpKind::Sigmoid:
      return true;
    default:
      return false;
  }
}

bool is_mean(const Operation& op) {
  return op.kind() == OpKind::ReduceMean || op.kind() == OpKind::GlobalAvgPool;
}
// A mean with 16 bits needs everything that it reads widened.
double cost_of_reading(const Operation& op) {
  return tuning::kCostOfElement *
         static_cast<double>(op.input(0)->type().num_elements().value_or(0));
}

bool has_weights(const Operation& op, const OpRule& rule) {
  for (size_t i = 0; i < op.inputs().size(); ++i)
    if (op.input(i) != nullptr && rule.role(i) == OperandRole::Weights) return true;
  return false;
}

// Walks from an output towards the layer that makes it, through tensors that nothing else reads.
class Walk {
 public:
  Walk(const Graph& graph, const Plan& plan, const Tensor* output)
      : graph_(graph), plan_(plan), op_(output->producer()) {
    if (!output->uses().empty()) op_ = nullptr;
    skip_movement();
  }
  // Null where there is none of interest.
  const Operation* at() const { return op_ != nullptr && plan_.of(op_).integer ? op_ : nullptr; }
  void go_on_from(const Operation* op) {
    op_ = op;
    step_back();
    skip_movement();
  }

 private:
  void step_back() {
    const Tensor* operand = op_->input(0);
    op_ = graph_.has_single_use(operand) ? operand->producer() : nullptr;
  }
  void skip_movement() {
    while (op_ != nullptr && plan_.of(op_).rule.moves_data && op_->outputs().size() == 1 &&
           single_activation())
      step_back();
  }
  bool single_activation() const {
    size_t count = 0;
    for (size_t i = 0; i < op_->inputs().size(); ++i)
      count += op_->input(i) != nullptr && plan_.of(op_).rule.role(i) == OperandRole::Activation;
    return count == 1;
  }

  const Graph& graph_;
  const Plan& plan_;
  const Operation* op_;
};

}  // namespace

PreciseOutputs precise_outputs(const Graph& graph, const Plan& plan, double most_share) {
  PreciseOutputs precise;
  const TargetSpec& target = *plan.target;
  if (target.integers_only) return precise;
  const double most_cost = most_share * cost_of_run(graph);
  for (const Tensor* output : graph.outputs()) {
    if (output->dtype() != DType::F32) continue;
    Walk walk(graph, plan, output);
    if (const Operation* last = walk.at(); last != nullptr && ends_in_probabilities(*last)) {
      precise.choices[last->id()] = {Precision::Float, kReason, true};
      walk.go_on_from(last);
    }
    const Operation* layer = walk.at();
    if (layer == nullptr) continue;
    if (const Operation* owner = fused_into(graph, plan, *layer)) layer = owner;
    if (plan.of(layer).width == Width::Wide || !target.has_wide) continue;
    if (!has_weights(*layer, plan.of(layer).rule)) continue;
    const auto widen = [&](const Operation& op, double cost, std::map<uint32_t, Choice>& choices) {
      if (cost > most_cost || !target.describe(op, Width::Wide).integer) return false;
      choices[op.id()] = {Precision::Wide, {}, true};
      return true;
    };
    if (!widen(*layer, cost_of(*layer), precise.choices)) continue;
    walk.go_on_from(layer);
    if (const Operation* mean = walk.at(); mean != nullptr && is_mean(*mean))
      widen(*mean, cost_of_reading(*mean), precise.means);
  }
  return precise;
}

}  // namespace ec::quantize
