// eliminate-dead-code: erases operations and constants that no output depends on.
#include "ops/op_def.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

class EliminateDeadCode : public Pass {
 public:
  std::string_view name() const override { return kEliminateDeadCodePass.name; }

  Result<PassStats> run(Graph& graph, PassContext&) const override {
    PassStats stats;
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
  static bool is_dead(const Graph& graph, const Operation& op) {
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
