#include "analysis/liveness.h"

#include <algorithm>

namespace ec {

void LiveRange::join(const LiveRange& other) {
  if (first == kNever || (other.first != kNever && other.first < first)) first = other.first;
  last = std::max(last, other.last);
}

std::vector<const Operation*> live_operations(const Graph& graph,
                                              std::span<const Operation* const> order) {
  std::vector<bool> needed(graph.tensor_id_bound(), false);
  for (const Tensor* output : graph.outputs()) needed[output->id()] = true;
  std::vector<const Operation*> live;
  for (size_t i = order.size(); i-- > 0;) {
    const Operation* op = order[i];
    const bool wanted = op->kind() == OpKind::WriteState ||
                        std::any_of(op->outputs().begin(), op->outputs().end(),
                                    [&](const Tensor* tensor) { return needed[tensor->id()]; });
    if (!wanted) continue;
    for (const Tensor* tensor : op->inputs())
      if (tensor != nullptr) needed[tensor->id()] = true;
    live.push_back(op);
  }
  std::reverse(live.begin(), live.end());
  return live;
}

std::vector<LiveRange> live_ranges(const Graph& graph, std::span<const Operation* const> order) {
  std::vector<LiveRange> ranges(graph.tensor_id_bound());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto step = static_cast<int64_t>(i);
    for (const Tensor* tensor : order[i]->outputs()) ranges[tensor->id()] = {step, step};
    for (const Tensor* tensor : order[i]->inputs())
      if (tensor != nullptr) ranges[tensor->id()].last = step;
  }
  for (const Tensor* output : graph.outputs()) ranges[output->id()].last = LiveRange::kForever;
  return ranges;
}

}  // namespace ec
