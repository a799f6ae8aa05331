#include "quantize/rescale/split_channels.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/attrs.h"
#include "quantize/rescale/weight_index.h"

namespace ec::quantize {
namespace {

class Splitter {
 public:
  Splitter(Graph& graph, const UnevenChannels& found) : graph_(graph), found_(found) {}

  Status run() {
    std::vector<Tensor*> joined;
    std::vector<uint32_t> order;
    for (const std::vector<uint32_t>& part : found_.parts) {
      EC_TRY(Tensor * result, add_part(part));
      joined.push_back(result);
      order.insert(order.end(), part.begin(), part.end());
    }
    Tensor* before = found_.result();
    const AxisAttrs last{static_cast<int64_t>(before->shape()->rank()) - 1};
    EC_TRY(Tensor * all, graph_.add_single(OpKind::Concat, std::move(joined), last,
                                           before->producer()->location()));
    graph_.replace_all_uses(before, all);
    for (const ChannelOrder::Constant& constant : found_.behind.constants)
      reorder(graph_, constant, order);
    remove_whole();
    return {};
  }

 private:
  // The elements of some indices of the first dimension.
  Tensor* rows(const Tensor* constant, const std::vector<uint32_t>& part) {
    if (constant == nullptr) return nullptr;
    const auto values = constant->values<float>();
    std::vector<int64_t> shape = constant->shape()->sizes();
    // A bias has its channels last, whatever stands in front.
    const auto axis = static_cast<size_t>(
        std::find_if(shape.begin(), shape.end(), [](int64_t s) { return s != 1; }) - shape.begin());
    const size_t along = std::min(axis, shape.size() - 1);
    const size_t inner = values.size() / static_cast<size_t>(shape[along]);
    std::vector<float> chosen;
    chosen.reserve(part.size() * inner);
    for (const uint32_t row : part) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * inner);
      chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
    }
    shape[along] = static_cast<int64_t>(part.size());
    return graph_.add_constant<float>(constant->name() + "_part", Shape::of(shape),
                                      std::span<const float>(chosen));
  }

  Result<Tensor*> add_conv(const Operation& op, Tensor* x, const std::vector<uint32_t>& part) {
    ConvAttrs attrs = op.attrs_as<ConvAttrs>();
    if (attrs.groups != 1) attrs.groups = static_cast<int64_t>(part.size());
    std::vector<Tensor*> inputs = {x, rows(op.input(1), part)};
    if (op.input(2) != nullptr) inputs.push_back(rows(op.input(2), part));
    return graph_.add_single(OpKind::Conv, std::move(inputs), attrs, op.location());
  }

  Result<Tensor*> add_part(const std::vector<uint32_t>& part) {
    std::map<uint32_t, Tensor*> made;  // by id of the tensor that it is a part of
    EC_TRY(made[found_.made_by->output()->id()],
           add_conv(*found_.made_by, found_.made_by->input(0), part));
    const auto add_again = [&](const Operation& op) -> Status {
      std::vector<Tensor*> inputs;
      for (Tensor* operand : op.inputs()) {
        const auto own = operand != nullptr ? made.find(operand->id()) : made.end();
        inputs.push_back(own != made.end() ? own->second : operand);
      }
      EC_TRY(made[op.output()->id()],
             graph_.add_single(op.kind(), std::move(inputs), op.attrs(), op.location()));
      return {};
    };
    for (const Operation* op : found_.between) EC_CHECK_OK(add_again(*op));
    EC_TRY(made[found_.read_by->output()->id()],
           add_conv(*found_.read_by, made[found_.read_by->input(0)->id()], part));
    if (found_.clamp != nullptr) EC_CHECK_OK(add_again(*found_.clamp));
    return made[found_.result()->id()];
  }

  void remove_whole() {
    std::vector<Operation*> ops = {found_.made_by};
    ops.insert(ops.end(), found_.between.begin(), found_.between.end());
    ops.push_back(found_.read_by);
    if (found_.clamp != nullptr) ops.push_back(found_.clamp);
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      const std::vector<Tensor*> operands = (*op)->inputs();
      graph_.erase(*op);
      for (Tensor* operand : std::set<Tensor*>(operands.begin(), operands.end()))
        if (operand != nullptr && operand->is_constant() && operand->uses().empty())
          graph_.erase(operand);
    }
  }

  Graph& graph_;
  const UnevenChannels& found_;
};

// Ids of what a split replaces, of the operations whose constants follow, and of all tensors whose
// channels change places.
struct Reach {
  std::set<uint32_t> replaced, changed, tensors;
};
Reach reach_of(const UnevenChannels& found) {
  Reach reach;
  const auto replace = [&](const Operation* op) {
    reach.replaced.insert(op->id());
    reach.tensors.insert(op->output()->id());
  };
  replace(found.made_by);
  for (const Operation* op : found.between) replace(op);
  replace(found.read_by);
  if (found.clamp != nullptr) replace(found.clamp);
  for (const Tensor* tensor : found.behind.reordered) reach.tensors.insert(tensor->id());
  for (const ChannelOrder::Constant& constant : found.behind.constants)
    for (const Use& use : constant.tensor->uses()) reach.changed.insert(use.op->id());
  return reach;
}

bool meet(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::ranges::any_of(a, [&](uint32_t id) { return b.contains(id); });
}

}  // namespace

bool may_split_channels(const Graph& graph) {
  return std::ranges::any_of(graph.topological(), [](const Operation* op) {
    const std::optional<WeightIndex> index = weight_index(*op);
    return index && index->depthwise;
  });
}

Result<size_t> split_channels(Graph& graph, const Plan& plan, const CalibrationRun& run) {
  const std::vector<UnevenChannels> all = uneven_channels(graph, plan, run);
  std::vector<Reach> reaches;
  for (const UnevenChannels& found : all) reaches.push_back(reach_of(found));
  std::set<uint32_t> gone, reordered;  // operations that were replaced, tensors in another order
  size_t done = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Reach& reach = reaches[i];
    // What others made of the graph is not known to this one.
    if (meet(reach.changed, gone) || meet(reach.tensors, reordered)) continue;
    EC_CHECK_OK(Splitter(graph, all[i]).run());
    gone.insert(reach.replaced.begin(), reach.replaced.end());
    reordered.insert(reach.tensors.begin(), reach.tensors.end());
    ++done;
  }
  return done;
}

}  // namespace ec::quantize
