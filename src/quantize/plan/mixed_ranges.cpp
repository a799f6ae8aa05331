#include "quantize/plan/mixed_ranges.h"

#include <algorithm>
#include <limits>

#include "ops/op_def.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

// Whether everything behind the tensor only moves it, up to outputs of the graph.
bool ends_in_outputs(const Graph& graph, const Plan& plan, const Tensor* tensor) {
  if (tensor->uses().empty()) return graph.is_output(tensor);
  return std::all_of(tensor->uses().begin(), tensor->uses().end(), [&](const Use& use) {
    return plan.of(use.op).rule.moves_data && use.index == 0 && use.op->outputs().size() == 1 &&
           ends_in_outputs(graph, plan, use.op->output());
  });
}

void collect_outputs(const Graph& graph, const Tensor* tensor, std::vector<const Tensor*>& found) {
  if (graph.is_output(tensor)) found.push_back(tensor);
  for (const Use& use : tensor->uses())
    for (const Tensor* output : use.op->outputs()) collect_outputs(graph, output, found);
}

}  // namespace

std::optional<RangeMix> mixed_ranges(const Operation& op, const Plan& plan,
                                     const CalibrationRun& run, double least) {
  const OpRule& rule = plan.of(&op).rule;
  if (rule.result != ResultRule::SameScale || op.inputs().size() < 2) return std::nullopt;
  RangeMix mix;
  mix.narrow = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < op.inputs().size(); ++i) {
    const Tensor* operand = op.input(i);
    if (operand == nullptr || rule.role(i) != OperandRole::Activation) continue;
    const auto& range = run.extremes[operand->id()];
    if (!range || span_with_zero(*range) <= 0) continue;
    mix.wide = std::max(mix.wide, span_with_zero(*range));
    if (span_with_zero(*range) >= mix.narrow) continue;
    mix.narrow = span_with_zero(*range);
    mix.smallest = operand;
  }
  if (mix.smallest == nullptr || mix.wide < least * mix.narrow) return std::nullopt;
  return mix;
}

std::vector<const Operation*> mixed_outputs(const Graph& graph, const Plan& plan,
                                            const CalibrationRun& run, bool certain) {
  std::vector<const Operation*> found;
  for (const Operation* op : graph.topological()) {
    if (op->kind() != OpKind::Concat || !plan.of(op).integer) continue;
    const double least = plan.of(op).width == Width::Wide ? tuning::kMixedWideRanges
                         : certain                        ? tuning::kMixedRanges
                                                          : tuning::kUnlikeRanges;
    if (mixed_ranges(*op, plan, run, least) && ends_in_outputs(graph, plan, op->output()))
      found.push_back(op);
  }
  return found;
}

std::vector<const Tensor*> outputs_behind(const Graph& graph, const Operation& op) {
  std::vector<const Tensor*> found;
  collect_outputs(graph, op.output(), found);
  return found;
}

}  // namespace ec::quantize
