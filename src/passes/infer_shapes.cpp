// infer-shapes: runs inference again where other passes made more known.
#include <algorithm>

#include "ops/infer.h"
#include "passes/folding.h"
#include "passes/registry.h"

namespace ec {
namespace {

// Inference may only add to what is known. Where the two differ in name only (two symbols), the
// stored one stays.
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

// Nothing left to learn: static types everywhere and, for short integers, known elements.
bool is_settled(const Operation& op) {
  for (const Tensor* output : op.outputs()) {
    const bool counts = is_integer(output->dtype()) || output->dtype() == DType::Bool;
    if (!output->type().is_static()) return false;
    if (!counts) continue;
    // Elements that were open when the operation was added may be known by now.
    const auto& dims = output->dim_values();
    if (!dims ||
        !std::all_of(dims->begin(), dims->end(), [](const Dim& d) { return d.is_static(); }))
      return false;
  }
  return true;
}

bool update(Graph& graph, Tensor* tensor, const TensorType& inferred,
            std::optional<std::vector<Dim>> dims) {
  TensorType type = tensor->type();
  bool changed = refine(type.shape, inferred.shape);
  if (changed) graph.set_type(tensor, std::move(type));
  if (dims && tensor->dim_values() != dims) {
    graph.set_dim_values(tensor, std::move(dims));
    changed = true;
  }
  return changed;
}

}  // namespace

bool refine_types(Operation& op) {
  if (is_settled(op)) return false;
  InferContext inference(op, operands_of(op));
  // What fails now fails when it runs, if it ever does: a branch that is never taken may hold
  // operations that do not fit its inputs.
  if (!infer_types(inference).ok()) return false;
  bool changed = false;
  if (!(inference.attributes() == op.attrs())) {
    op.graph().set_attrs(&op, inference.attributes());
    changed = true;
  }
  for (size_t i = 0; i < op.outputs().size(); ++i)
    changed = update(op.graph(), op.output(i), inference.results()[i],
                     std::move(inference.result_dims()[i])) ||
              changed;
  return changed;
}

namespace passes {
namespace {

class InferShapes : public Pass {
 public:
  std::string_view name() const override { return kInferShapesPass.name; }

  Result<PassStats> run(Graph& graph, PassContext&) const override {
    PassStats stats;
    for (Operation* op : graph.topological()) {
      ++stats.visits;
      if (refine_types(*op)) ++stats.changes;
    }
    return stats;
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

}  // namespace passes
}  // namespace ec
