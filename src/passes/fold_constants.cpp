// fold-constants: computes what depends on constants only, with the reference kernels.
#include "ops/kernel.h"
#include "passes/folding.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec {
namespace {

// Sum of the constant operands' bytes; empty when an operand is no constant.
std::optional<size_t> constant_bytes(const Operation& op) {
  size_t bytes = 0;
  for (const Tensor* input : op.inputs()) {
    if (input == nullptr) continue;
    if (!input->is_constant()) return std::nullopt;
    bytes += input->raw_data().size();
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
std::optional<std::vector<Value>> try_fold(const Operation& op, size_t operand_bytes,
                                           PassContext& context) {
  const size_t limit = std::max(operand_bytes, context.fold.max_result_bytes);
  for (const Tensor* output : op.outputs()) {
    const auto bytes = output->type().num_bytes();
    if (bytes && static_cast<size_t>(*bytes) > limit) return std::nullopt;
  }
  std::vector<Value> values(op.inputs().size());
  std::vector<const Value*> operands(op.inputs().size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor* input = op.input(i);
    if (input == nullptr) continue;
    values[i] = Value(input->dtype(), input->shape()->sizes(), input->data());
    operands[i] = &values[i];
  }
  auto results = evaluate(op, operands, limit);
  if (!results.ok()) return std::nullopt;
  size_t bytes = 0;
  for (const Value& value : *results) bytes += value.data.size();
  if (bytes > operand_bytes) {
    const size_t growth = bytes - operand_bytes;
    if (context.fold_growth_bytes + growth > context.fold.max_growth_bytes) return std::nullopt;
    context.fold_growth_bytes += growth;
  }
  return std::move(results).value();
}

}  // namespace

bool fold_constant(Rewriter& rewriter, Operation* op) {
  if (!foldable(*op)) return false;
  const auto bytes = constant_bytes(*op);
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
        "Results may be as large as the constants they replace, or 8 MB, and add at most 64 MB in "
        "all, so that a graph never grows out of proportion. Random operations, loops and "
        "dequantisation of weights are never folded.",
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
