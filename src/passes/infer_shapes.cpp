// infer-shapes: runs inference again where other passes made more known.
#include "ops/infer.h"
#include "passes/match.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

// A rewrite never changes a tensor's shape, so what was known before stays known: inference may
// only add to it. Where the two differ in name only (two symbols), the stored one stays.
bool refine(std::optional<Shape>& stored, const std::optional<Shape>& inferred) {
  if (!inferred) return false;
  if (!stored) {
    stored = inferred;
    return true;
  }
  if (stored->rank() != inferred->rank()) return false;
  bool changed = false;
  for (size_t i = 0; i < stored->rank(); ++i) {
    Dim& dim = (*stored)[i];
    const Dim& better = (*inferred)[i];
    if ((!dim.is_static() && better.is_static()) || (dim.is_unknown() && better.is_symbol())) {
      dim = better;
      changed = true;
    }
  }
  return changed;
}

class InferShapes : public Pass {
 public:
  std::string_view name() const override { return kInferShapesPass.name; }

  Result<PassStats> run(Graph& graph, PassContext&) const override {
    PassStats stats;
    for (Operation* op : graph.topological()) {
      ++stats.visits;
      if (is_settled(*op)) continue;
      std::vector<InferOperand> operands;
      operands.reserve(op->inputs().size());
      for (const Tensor* tensor : op->inputs()) {
        InferOperand operand;
        if (tensor != nullptr) {
          operand.type = &tensor->type();
          if (tensor->is_constant()) operand.data = tensor->data().bytes().data();
          if (tensor->dim_values()) operand.dims = &*tensor->dim_values();
        }
        operands.push_back(operand);
      }
      InferContext inference(*op, std::move(operands));
      // What fails now fails when it runs, if it ever does: a branch that is never taken may hold
      // operations that do not fit its inputs.
      if (!op->def().infer(inference).ok()) continue;
      for (size_t i = 0; i < op->outputs().size(); ++i)
        stats.changes += update(graph, op->output(i), inference.results()[i],
                                std::move(inference.result_dims()[i]));
    }
    return stats;
  }

 private:
  // Nothing left to learn: static types everywhere and, for short integers, known elements.
  static bool is_settled(const Operation& op) {
    for (const Tensor* output : op.outputs())
      if (!output->type().is_static() || (is_integer(output->dtype()) && !output->dim_values()))
        return false;
    return true;
  }

  static int update(Graph& graph, Tensor* tensor, const TensorType& inferred,
                    std::optional<std::vector<Dim>> dims) {
    TensorType type = tensor->type();
    bool changed = refine(type.shape, inferred.shape);
    if (changed) graph.set_type(tensor, std::move(type));
    if (dims && tensor->dim_values() != dims) {
      graph.set_dim_values(tensor, std::move(dims));
      changed = true;
    }
    return changed ? 1 : 0;
  }
};

}  // namespace

const PassInfo kInferShapesPass{
    .name = "infer-shapes",
    .summary = "Infers types again where constants and sizes became known.",
    .details = "Known sizes stay known; inference only adds to them.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<InferShapes>();
    }};

}  // namespace ec::passes
