// fold-constants: computes what depends on constants only, with the reference kernels.
#include <algorithm>

#include "analysis/work.h"
#include "ops/kernel.h"
#include "passes/folding.h"
#include "passes/registry.h"
#include "passes/rewriter.h"
#include "support/budget.h"

namespace ec {
namespace {

// Bytes of the constants that an operation reads, each counted once, and of those among them that
// nothing else reads: they go when the operation goes.
struct OperandBytes {
  size_t read = 0, freed = 0;
};

// Empty when an operand is no constant.
std::optional<OperandBytes> constant_bytes(const Graph& graph, const Operation& op) {
  std::vector<const Tensor*> operands;
  for (const Tensor* input : op.inputs()) {
    if (input == nullptr) continue;
    if (!input->is_constant()) return std::nullopt;
    operands.push_back(input);
  }
  std::ranges::sort(operands, {}, &Tensor::id);
  OperandBytes bytes;
  for (size_t i = 0, next = 0; i < operands.size(); i = next) {
    while (next < operands.size() && operands[next] == operands[i]) ++next;
    const size_t size = operands[i]->raw_data().size();
    bytes.read += size;
    const bool only_here = operands[i]->uses().size() == next - i;
    if (only_here && !graph.is_output(operands[i])) bytes.freed += size;
  }
  return bytes;
}

bool foldable(const Operation& op) {
  // Loops may take as long as they like; `if` is simplified elsewhere. A dequantised weight stays
  // in its small form: back ends want the integers and the scale.
  return !op.def().traits.random && op.bodies().empty() && op.kind() != OpKind::Dequantize;
}

// The result of folding one operation, or nothing when it is too large or fails: then the
// operation stays and fails, if ever, when it runs.
std::optional<std::vector<Value>> try_fold(const Operation& op, const OperandBytes& operand_bytes,
                                           PassContext& context) {
  const size_t room = context.fold.max_growth_bytes -
                      std::min(context.fold.max_growth_bytes, context.fold_growth_bytes);
  const size_t limit = std::min(std::max(operand_bytes.read, context.fold.max_result_bytes),
                                operand_bytes.freed + room);
  size_t result_bytes = 0;
  for (const Tensor* output : op.outputs())
    result_bytes += static_cast<size_t>(output->type().num_bytes().value_or(0));
  if (result_bytes > limit) return std::nullopt;
  const uint64_t work = estimate_work(op), most_work = most_fold_work(operand_bytes.read);
  Budget* const job = Budget::current();
  if (work > most_work || (job != nullptr && !job->may_fold(work))) return std::nullopt;
  std::vector<Value> values(op.inputs().size());
  std::vector<const Value*> operands(op.inputs().size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor* input = op.input(i);
    if (input == nullptr) continue;
    values[i] = Value(input->dtype(), input->shape()->sizes(), input->data());
    operands[i] = &values[i];
  }
  // The estimate knows types alone; boxes and indices may ask for more.
  Budget budget({.work = 2 * most_work});
  auto results = [&] {
    const BudgetScope scope(budget);
    return evaluate(op, operands, limit);
  }();
  if (job != nullptr) job->fold(std::max(work, budget.spent()));
  if (!results.ok()) return std::nullopt;
  size_t bytes = 0;
  for (const Value& value : *results) bytes += value.data.size();
  const size_t growth = bytes - std::min(bytes, operand_bytes.freed);
  if (growth > room) return std::nullopt;
  context.fold_growth_bytes += growth;
  return std::move(results).value();
}

}  // namespace

bool fold_constant(Rewriter& rewriter, Operation* op) {
  if (!foldable(*op)) return false;
  const auto bytes = constant_bytes(rewriter.graph(), *op);
  if (!bytes) return false;
  auto results = try_fold(*op, *bytes, rewriter.context());
  if (!results) return false;
  std::vector<Tensor*> constants;
  for (size_t i = 0; i < results->size(); ++i) {
    Value& value = (*results)[i];
    TensorType type = value.type();
    type.quant = op->output(i)->type().quant;
    constants.push_back(rewriter.graph().add_constant("", std::move(type), std::move(value.data)));
  }
  rewriter.replace_results(op, constants);
  for (Tensor* constant : constants) rewriter.erase_if_unused(constant);
  return true;
}

namespace passes {
namespace {

class FoldConstants : public Pass {
 public:
  std::string_view name() const override { return kFoldConstantsPass.name; }

  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    PassStats& stats = rewriter.stats();
    for (Operation* op : graph.topological()) {
      ++stats.visits;
      EC_CHECK_OK(check_budget());
      if (fold_constant(rewriter, op)) ++stats.changes;
    }
    return std::move(stats);
  }
};

// A walk from the inputs on: what one operation makes known, the next ones see at once, so that
// shape arithmetic folds through a whole network in one go.
class FoldKnown : public Pass {
 public:
  std::string_view name() const override { return kFoldKnownPass.name; }

  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    PassStats& stats = rewriter.stats();
    for (Operation* op : graph.topological()) {
      ++stats.visits;
      EC_CHECK_OK(check_budget());
      const uint32_t id = op->id();
      if (refine_types(*op)) stats.count("types refined"), ++stats.changes;
      if (fold_constant(rewriter, op)) {
        stats.count("operations folded"), ++stats.changes;
        continue;
      }
      if (fold_shape(rewriter, op)) stats.count("shapes folded"), ++stats.changes;
      // A shape that became constant may make the result's sizes known.
      if (graph.operation(id) != nullptr && refine_types(*op)) ++stats.changes;
    }
    return std::move(stats);
  }
};

}  // namespace

const PassInfo kFoldConstantsPass{
    .name = "fold-constants",
    .summary = "Computes operations whose operands are all constants.",
    .details =
        "Results may be as large as the constants they replace, or 8 MB, and add at most 16 MB in "
        "all beyond the model's own constants, so that a graph never grows out of proportion. What "
        "would take more than 250 million operations, or all together more than a billion, beyond "
        "what the size of the constants justifies, is left to the run. Random operations, loops "
        "and dequantisation of weights are never folded.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<FoldConstants>();
    }};

const PassInfo kFoldKnownPass{
    .name = "fold-known",
    .summary = "infer-shapes, fold-shapes and fold-constants in one walk from the inputs on.",
    .details =
        "What one operation makes known, the next ones see at once: shape arithmetic folds "
        "through a whole network in one go.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<FoldKnown>();
    }};

}  // namespace passes
}  // namespace ec
