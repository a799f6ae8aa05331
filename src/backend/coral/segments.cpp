#include "backend/coral/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/costs.h"
#include "analysis/cuts.h"
#include "analysis/subgraph.h"
#include "backend/coral/estimate.h"

namespace ec::coral {
namespace {

// The cuts of a graph that are allowed, and what the pieces between them cost.
class CutPlaces {
 public:
  CutPlaces(const Graph& graph, const std::unordered_set<std::string>& on_device) : cuts_(graph) {
    find_places(on_device);
    sum_costs();
  }

  const Cuts& cuts() const { return cuts_; }
  const std::vector<Operation*>& order() const { return cuts_.order(); }
  const std::vector<size_t>& places() const { return places_; }
  double milliseconds(size_t from, size_t to) const {
    Partition piece;
    piece.mapped = 1;
    piece.operators.resize(1);
    piece.operators[0].macs = macs_[to] - macs_[from];
    piece.operators[0].parameter_bytes = bytes_[to] - bytes_[from];
    return coral::estimate(piece).latency_ms;
  }

 private:
  // Behind the first and before the last operation of the device; not between an operation and the
  // activation that its operator takes along.
  void find_places(const std::unordered_set<std::string>& on_device) {
    const auto is_mapped = [&](const Operation* op) {
      return std::any_of(op->outputs().begin(), op->outputs().end(),
                         [&](const Tensor* y) { return on_device.contains(y->name()); });
    };
    const std::vector<Operation*>& order = cuts_.order();
    const auto first = std::find_if(order.begin(), order.end(), is_mapped);
    const auto last = std::find_if(order.rbegin(), order.rend(), is_mapped);
    if (first == order.end()) return;
    const auto begin = static_cast<size_t>(first - order.begin()) + 1;
    const auto end = static_cast<size_t>(order.rend() - last);
    for (size_t at = begin; at < end; ++at) {
      const OpKind next = order[at]->kind();
      const bool is_activation = next == OpKind::Relu || next == OpKind::Clip;
      const bool whole = is_activation && order[at]->input(0)->producer() == order[at - 1];
      if (!whole && !cuts_.inputs_cross(at) && cuts_.is_crossed(at)) places_.push_back(at);
    }
  }

  void sum_costs() {
    const std::vector<Operation*>& order = cuts_.order();
    macs_.assign(order.size() + 1, 0);
    bytes_.assign(order.size() + 1, 0);
    for (size_t i = 0; i < order.size(); ++i) {
      macs_[i + 1] = macs_[i] + count_macs(*order[i]).value_or(0);
      bytes_[i + 1] = bytes_[i] + constant_bytes(*order[i]);
    }
  }

  Cuts cuts_;
  std::vector<size_t> places_;
  std::vector<int64_t> macs_, bytes_;  // sums of what is before each cut
};

// The cuts that make the slowest of `count` pieces fastest; empty when there are none.
std::vector<size_t> best_cuts(const CutPlaces& cuts, size_t count) {
  std::vector<size_t> at = {0};
  at.insert(at.end(), cuts.places().begin(), cuts.places().end());
  at.push_back(cuts.order().size());
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  // best[k][i]: the slowest of k pieces that end at cut i.
  std::vector<std::vector<double>> best(count + 1, std::vector<double>(at.size(), kImpossible));
  std::vector<std::vector<size_t>> before(count + 1, std::vector<size_t>(at.size(), 0));
  best[0][0] = 0;
  for (size_t k = 1; k <= count; ++k)
    for (size_t to = 1; to < at.size(); ++to)
      for (size_t from = 0; from < to; ++from) {
        if (best[k - 1][from] == kImpossible || !cuts.cuts().is_piece(at[from], at[to])) continue;
        const double slowest = std::max(best[k - 1][from], cuts.milliseconds(at[from], at[to]));
        if (slowest < best[k][to]) best[k][to] = slowest, before[k][to] = from;
      }
  if (best[count].back() == kImpossible) return {};
  std::vector<size_t> chosen;
  for (size_t k = count, to = at.size() - 1; k > 0; to = before[k--][to]) chosen.push_back(at[to]);
  std::reverse(chosen.begin(), chosen.end());
  return chosen;  // ends of the pieces
}

Result<std::unique_ptr<Graph>> extract(const Graph& graph, const Cuts& cuts, size_t from,
                                       size_t to) {
  const std::vector<const Operation*> operations(
      cuts.order().begin() + static_cast<std::ptrdiff_t>(from),
      cuts.order().begin() + static_cast<std::ptrdiff_t>(to));
  std::vector<SubgraphOutput> outputs;
  if (to == cuts.order().size()) {
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      outputs.push_back({graph.output_names()[i], graph.outputs()[i]});
  } else {
    for (const Tensor* x : cuts.crossing(to)) outputs.push_back({x->name(), x});
  }
  EC_TRY(std::unique_ptr<Graph> piece,
         extract_subgraph(graph.name(), operations,
                          from == 0 ? graph.inputs() : cuts.crossing(from), outputs));
  piece->metadata() = graph.metadata();
  return piece;
}

}  // namespace

Result<std::vector<std::unique_ptr<Graph>>> cut_into_segments(
    const Graph& graph, size_t count, const std::unordered_set<std::string>& on_device) {
  const CutPlaces cuts(graph, on_device);
  const std::vector<size_t> ends =
      count <= cuts.places().size() + 1 ? best_cuts(cuts, count) : std::vector<size_t>{};
  if (ends.empty())
    return Error(Code::NotOnTarget,
                 fmt::format("the model cannot be cut into {} segments: there are {} places where "
                             "one piece gives all that the rest needs",
                             count, cuts.places().size()))
        .hint(
            "ask for fewer segments; outputs in the middle of the model and operations left on "
            "the CPU leave fewer places");
  std::vector<std::unique_ptr<Graph>> pieces;
  size_t from = 0;
  for (const size_t to : ends) {
    EC_TRY(std::unique_ptr<Graph> piece, extract(graph, cuts.cuts(), from, to));
    pieces.push_back(std::move(piece));
    from = to;
  }
  return pieces;
}

}  // namespace ec::coral
