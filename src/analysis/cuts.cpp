#include "analysis/cuts.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace ec {

Cuts::Cuts(const Graph& graph) : graph_(graph), order_(graph.topological()) {
  const std::vector<const Operation*> order(order_.begin(), order_.end());
  ranges_ = live_ranges(graph, order);
  const size_t cuts = order_.size() + 1;
  crossings_.assign(cuts, 0);
  earliest_.assign(cuts, order_.size());
  for (const Tensor* tensor : graph.tensors()) {
    if (tensor->is_constant()) continue;
    const LiveRange& range = ranges_[tensor->id()];
    const auto from = static_cast<size_t>(range.first + 1);
    const size_t to =
        static_cast<size_t>(std::min<int64_t>(range.last, static_cast<int64_t>(order_.size()) - 1));
    if (range.last < 0 || from > to) continue;
    // Summed up below.
    ++crossings_[from];
    --crossings_[to + 1];
    if (range.first == LiveRange::kNever) last_input_ = std::max(last_input_, to);
  }
  for (size_t i = 1; i < cuts; ++i) crossings_[i] += crossings_[i - 1];
  // Tensors by their producers, earliest first. One whose last reader is passed is dropped when it
  // comes to the front.
  using Entry = std::pair<size_t, int64_t>;  // producer, last
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> live;
  for (size_t cut = 1; cut < order_.size(); ++cut) {
    for (const Tensor* made : order_[cut - 1]->outputs())
      live.emplace(cut - 1, ranges_[made->id()].last);
    while (!live.empty() && live.top().second < static_cast<int64_t>(cut)) live.pop();
    if (!live.empty()) earliest_[cut] = live.top().first;
    if (cut <= last_input_) earliest_[cut] = 0;
  }
}

std::vector<Tensor*> Cuts::crossing(size_t cut) const {
  std::vector<Tensor*> tensors;
  const auto at = static_cast<int64_t>(cut);
  for (Tensor* tensor : graph_.tensors()) {
    const LiveRange& range = ranges_[tensor->id()];
    if (!tensor->is_constant() && range.first < at && range.last >= at) tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace ec
