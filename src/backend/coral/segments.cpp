#include "backend/coral/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/coral/estimate.h"
#include "ops/macs.h"

namespace ec::coral {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

// The graph's operations in order with, for every cut between two of them, the tensors that cross
// it.
class CutPlaces {
 public:
  CutPlaces(const Graph& graph, const std::unordered_set<std::string>& on_device)
      : order_(graph.topological()) {
    std::vector<size_t> producer(graph.tensor_id_bound(), kNever), last(graph.tensor_id_bound(), 0);
    for (size_t i = 0; i < order_.size(); ++i) {
      for (const Tensor* x : order_[i]->inputs())
        if (x != nullptr) last[x->id()] = i;
      for (const Tensor* y : order_[i]->outputs()) producer[y->id()] = i;
    }
    for (const Tensor* y : graph.outputs()) last[y->id()] = order_.size();
    crossing_.resize(order_.size() + 1);
    earliest_.assign(order_.size() + 1, order_.size());
    for (Tensor* x : graph.tensors()) {
      if (x->is_constant()) continue;
      const size_t made = producer[x->id()];
      // The graph's inputs are there from the start: no piece computes them.
      const size_t from = made == kNever ? 0 : made + 1;
      for (size_t at = from; at <= last[x->id()] && at < order_.size(); ++at) {
        crossing_[at].push_back(x);
        earliest_[at] = std::min(earliest_[at], made == kNever ? 0 : made);
      }
    }
    find_places(on_device);
    sum_costs();
  }

  const std::vector<Operation*>& order() const { return order_; }
  const std::vector<size_t>& places() const { return places_; }
  const std::vector<Tensor*>& crossing(size_t place) const { return crossing_[place]; }
  // The piece of operations [from, to) makes all that is needed behind it.
  bool is_piece(size_t from, size_t to) const {
    return to == order_.size() || earliest_[to] >= from;
  }
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
    const auto first = std::find_if(order_.begin(), order_.end(), is_mapped);
    const auto last = std::find_if(order_.rbegin(), order_.rend(), is_mapped);
    if (first == order_.end()) return;
    const auto begin = static_cast<size_t>(first - order_.begin()) + 1;
    const auto end = static_cast<size_t>(order_.rend() - last);
    for (size_t at = begin; at < end; ++at) {
      const OpKind next = order_[at]->kind();
      const bool is_activation = next == OpKind::Relu || next == OpKind::Clip;
      const bool whole = is_activation && order_[at]->input(0)->producer() == order_[at - 1];
      const bool given = std::any_of(crossing_[at].begin(), crossing_[at].end(),
                                     [](const Tensor* x) { return x->is_input(); });
      if (!whole && !given && !crossing_[at].empty()) places_.push_back(at);
    }
  }

  void sum_costs() {
    macs_.assign(order_.size() + 1, 0);
    bytes_.assign(order_.size() + 1, 0);
    for (size_t i = 0; i < order_.size(); ++i) {
      int64_t bytes = 0;
      for (const Tensor* x : order_[i]->inputs())
        if (x != nullptr && x->is_constant()) bytes += static_cast<int64_t>(x->raw_data().size());
      macs_[i + 1] = macs_[i] + count_macs(*order_[i]).value_or(0);
      bytes_[i + 1] = bytes_[i] + bytes;
    }
  }

  std::vector<Operation*> order_;
  std::vector<std::vector<Tensor*>> crossing_;
  std::vector<size_t> earliest_;  // the first operation that makes something of what crosses
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
        if (best[k - 1][from] == kImpossible || !cuts.is_piece(at[from], at[to])) continue;
        const double slowest = std::max(best[k - 1][from], cuts.milliseconds(at[from], at[to]));
        if (slowest < best[k][to]) best[k][to] = slowest, before[k][to] = from;
      }
  if (best[count].back() == kImpossible) return {};
  std::vector<size_t> chosen;
  for (size_t k = count, to = at.size() - 1; k > 0; to = before[k--][to]) chosen.push_back(at[to]);
  std::reverse(chosen.begin(), chosen.end());
  return chosen;  // ends of the pieces
}

// Copies operations into a graph of their own.
class Extract {
 public:
  explicit Extract(const Graph& graph)
      : piece_(std::make_unique<Graph>(graph.name())), tensors_(graph.tensor_id_bound(), nullptr) {
    piece_->metadata() = graph.metadata();
  }

  void input(const Tensor* x) { tensors_[x->id()] = piece_->add_input(x->name(), x->type()); }
  ec::Status copy(const Operation& op) {
    OpSpec spec;
    spec.attrs = op.attrs();
    spec.location = op.location();
    spec.num_outputs = op.outputs().size();
    for (const auto& body : op.bodies()) spec.bodies.push_back(body->clone());
    std::vector<TensorType> types;
    for (const Tensor* y : op.outputs()) {
      types.push_back(y->type());
      spec.output_names.push_back(y->name());
    }
    std::vector<Tensor*> inputs;
    for (const Tensor* x : op.inputs()) inputs.push_back(x != nullptr ? operand(x) : nullptr);
    EC_TRY(const Operation* added,
           piece_->add_typed(op.kind(), std::move(inputs), std::move(spec), std::move(types)));
    for (size_t i = 0; i < op.outputs().size(); ++i)
      tensors_[op.output(i)->id()] = added->output(i);
    return {};
  }
  void output(const std::string& name, const Tensor* x) { piece_->add_output(name, operand(x)); }
  std::unique_ptr<Graph> take() { return std::move(piece_); }

 private:
  Tensor* operand(const Tensor* x) {
    Tensor*& mine = tensors_[x->id()];
    if (mine == nullptr) mine = piece_->add_constant(x->name(), x->type(), x->raw_data());
    return mine;
  }

  std::unique_ptr<Graph> piece_;
  std::vector<Tensor*> tensors_;
};

Result<std::unique_ptr<Graph>> extract(const Graph& graph, const CutPlaces& cuts, size_t from,
                                       size_t to) {
  Extract piece(graph);
  for (const Tensor* x : from == 0 ? graph.inputs() : cuts.crossing(from)) piece.input(x);
  for (size_t i = from; i < to; ++i) EC_CHECK_OK(piece.copy(*cuts.order()[i]));
  if (to == cuts.order().size()) {
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      piece.output(graph.output_names()[i], graph.outputs()[i]);
  } else {
    for (const Tensor* x : cuts.crossing(to)) piece.output(x->name(), x);
  }
  return piece.take();
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
    EC_TRY(std::unique_ptr<Graph> piece, extract(graph, cuts, from, to));
    pieces.push_back(std::move(piece));
    from = to;
  }
  return pieces;
}

}  // namespace ec::coral
