// eliminate-dead-code: erases operations and constants that no output depends on.
#include <set>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

class EliminateDeadCode : public Pass {
 public:
  std::string_view name() const override { return kEliminateDeadCodePass.name; }

  Result<PassStats> run(Graph& graph, PassContext&) const override {
    PassStats stats;
    erase_unread_states(graph, stats);
    // Readers before producers: one walk finds whole dead chains.
    const std::vector<Operation*> order = graph.topological();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      ++stats.visits;
      if (!is_dead(graph, **it)) continue;
      graph.erase(*it);
      stats.count("operations");
      ++stats.changes;
    }
    for (Tensor* tensor : graph.tensors()) {
      if (!tensor->is_constant() || !graph.is_unused(tensor)) continue;
      graph.erase(tensor);
      stats.count("constants");
      ++stats.changes;
    }
    return stats;
  }

 private:
  // What no operation reads need not be kept from run to run.
  static void erase_unread_states(Graph& graph, PassStats& stats) {
    const auto name_of = [](const Operation& op) { return op.attrs_as<StateAttrs>().name; };
    const auto is_free = [&](const Operation& op) {
      return op.output()->uses().empty() && !graph.is_output(op.output());
    };
    std::vector<Operation*> states;
    std::set<std::string> used, read;
    for (Operation* op : graph.topological()) {
      if (op->kind() != OpKind::ReadState && op->kind() != OpKind::WriteState) continue;
      states.push_back(op);
      if (is_free(*op)) continue;
      // A write whose result is used passes its value on.
      used.insert(name_of(*op));
      if (op->kind() == OpKind::ReadState) read.insert(name_of(*op));
    }
    for (Operation* op : states) {
      // A rewrite may have read a state anew, in another type.
      const bool is_old =
          op->kind() == OpKind::ReadState && is_free(*op) && read.contains(name_of(*op));
      if (used.contains(name_of(*op)) && !is_old) continue;
      graph.erase(op);
      stats.count("states");
      ++stats.changes;
    }
  }

  static bool is_dead(const Graph& graph, const Operation& op) {
    if (op.kind() == OpKind::ReadState) return false;
    for (const Tensor* output : op.outputs())
      if (!graph.is_unused(output)) return false;
    return true;
  }
};

}  // namespace

const PassInfo kEliminateDeadCodePass{
    .name = "eliminate-dead-code",
    .summary = "Erases operations and constants that no output depends on.",
    .details =
        "What no graph output and no later run (write_state) depends on goes. Graph inputs stay: "
        "they are the model's interface.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<EliminateDeadCode>();
    }};

}  // namespace ec::passes
