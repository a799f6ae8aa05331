// simplify-broadcasts: element-wise operations repeat their operands themselves.
//
//   add(expand(%a, [2,3,4]), %b: [2,3,4]) -> add(%a, %b)
//   add(unsqueeze(%a: [4], 0), %b: [3,4]) -> add(%a, %b)
#include <algorithm>

#include "ops/op_def.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec::passes {
namespace {

// What `tensor` was made from, if that broadcasts to the same when other operands are large enough.
Tensor* original_operand(const Tensor* tensor) {
  const Operation* op = tensor->producer();
  if (op == nullptr || has_quant(op)) return nullptr;
  if (op->kind() == OpKind::Expand) return op->input(0);
  if (!is_view(op) || !tensor->shape() || !op->input(0)->shape()) return nullptr;
  // A view that only adds or removes dimensions of size 1 in front.
  const bool adds = tensor->shape()->rank() > op->input(0)->shape()->rank();
  const Shape& longer = adds ? *tensor->shape() : *op->input(0)->shape();
  const Shape& shorter = adds ? *op->input(0)->shape() : *tensor->shape();
  const size_t leading = longer.rank() - shorter.rank();
  for (size_t i = 0; i < longer.rank(); ++i)
    if (i < leading ? longer[i] != Dim(1) : !longer[i].same_size(shorter[i - leading]))
      return nullptr;
  return op->input(0);
}

// Every dimension of the result comes from some operand without `skipped`, or from `instead`.
bool covers(const Operation* op, size_t skipped, const Tensor* instead) {
  const Shape& result = *op->output()->shape();
  // Slopes are repeated for the values, never the other way round.
  if (op->kind() == OpKind::Prelu && skipped == 0) return false;
  if (!instead->shape() || instead->shape()->rank() > result.rank()) return false;
  for (size_t d = 0; d < result.rank(); ++d) {
    bool found = result[d] == Dim(1);
    size_t longest = 0;
    for (size_t i = 0; i < op->inputs().size(); ++i) {
      const Tensor* input = i == skipped ? instead : op->input(i);
      if (input == nullptr) continue;
      if (!input->shape()) return false;
      const size_t rank = input->shape()->rank();
      longest = std::max(longest, rank);
      if (rank + d < result.rank()) continue;
      found = found || result[d].same_size((*input->shape())[rank + d - result.rank()]);
    }
    if (!found || longest < result.rank()) return false;
  }
  return true;
}

bool broadcasts(const Operation* op) {
  return op->def().traits.elementwise && op->inputs().size() >= 2 && op->outputs().size() == 1 &&
         op->kind() != OpKind::Clip;
}

// Expands go one reader at a time: the original is smaller. A view is taken away from all readers
// or from none: one that stays hides from patterns that both read the same.
bool can_go(const Graph& graph, const Tensor* tensor, const Tensor* original) {
  if (tensor->producer()->kind() == OpKind::Expand) return true;
  return !graph.is_output(tensor) && std::ranges::all_of(tensor->uses(), [&](const Use& use) {
    return broadcasts(use.op) && !has_quant(use.op) && use.op->output()->shape() &&
           covers(use.op, use.index, original);
  });
}

class SimplifyBroadcasts : public Pass {
 public:
  std::string_view name() const override { return kSimplifyBroadcastsPass.name; }

  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    PassStats& stats = rewriter.stats();
    rewriter.push_all();
    while (Operation* op = rewriter.pop()) {
      ++stats.visits;
      if (!broadcasts(op) || has_quant(op) || !op->output()->shape()) continue;
      for (size_t i = 0; i < op->inputs().size(); ++i) {
        if (op->input(i) == nullptr) continue;
        Tensor* original = original_operand(op->input(i));
        if (original == nullptr || !covers(op, i, original) ||
            !can_go(graph, op->input(i), original))
          continue;
        rewriter.set_operand(op, i, original);
        ++stats.changes;
      }
    }
    return std::move(stats);
  }
};

}  // namespace

const PassInfo kSimplifyBroadcastsPass{
    .name = "simplify-broadcasts",
    .summary = "Removes expands and leading dimensions that broadcasting supplies anyway.",
    .details =
        "Where the other operands of an element-wise operation already have the result's "
        "shape, an operand need not be repeated or given leading dimensions of size 1.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<SimplifyBroadcasts>();
    }};

}  // namespace ec::passes
