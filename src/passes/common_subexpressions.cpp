// common-subexpressions: computes equal things once.
//
//   %a = relu(%x)   %b = relu(%x)   add(%a, %b)     ->     %a = relu(%x)   add(%a, %a)
#include <algorithm>
#include <unordered_map>

#include "ops/op_def.h"
#include "passes/hash.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

bool mergeable(const Operation& op) {
  return !op.def().traits.random && op.bodies().empty() && !op.outputs().empty();
}

// Operands with those of a commutative operation in a fixed order.
std::vector<Tensor*> ordered_operands(const Operation& op) {
  std::vector<Tensor*> inputs = op.inputs();
  if (op.def().traits.commutative && inputs.size() == 2 && inputs[0] != nullptr &&
      inputs[1] != nullptr && inputs[1]->id() < inputs[0]->id())
    std::swap(inputs[0], inputs[1]);
  return inputs;
}

uint64_t hash_operation(const Operation& op) {
  uint64_t hash = hash_mix(static_cast<uint64_t>(op.kind()), op.outputs().size());
  hash = hash_mix(hash, hash_attrs(op.attrs()));
  for (const Tensor* input : ordered_operands(op))
    hash = hash_mix(hash, input == nullptr ? 0 : uint64_t{input->id()} + 1);
  return hash;
}

bool same_operation(const Operation& a, const Operation& b) {
  if (a.kind() != b.kind() || a.outputs().size() != b.outputs().size() ||
      !(a.attrs() == b.attrs()) || ordered_operands(a) != ordered_operands(b))
    return false;
  for (size_t i = 0; i < a.outputs().size(); ++i)
    if (a.output(i)->type().quant != b.output(i)->type().quant) return false;
  return true;
}

class CommonSubexpressions : public Pass {
 public:
  std::string_view name() const override { return kCommonSubexpressionsPass.name; }

  Result<PassStats> run(Graph& graph, PassContext&) const override {
    PassStats stats;
    merge_constants(graph, stats);
    std::unordered_map<uint64_t, std::vector<Operation*>> known;
    std::vector<Operation*> merged;
    // Producers first: operands are already merged when their readers are compared.
    for (Operation* op : graph.topological()) {
      ++stats.visits;
      if (!mergeable(*op)) continue;
      std::vector<Operation*>& equal_hash = known[hash_operation(*op)];
      const auto same = std::find_if(equal_hash.begin(), equal_hash.end(),
                                     [&](const Operation* o) { return same_operation(*o, *op); });
      if (same == equal_hash.end()) {
        equal_hash.push_back(op);
        continue;
      }
      for (size_t i = 0; i < op->outputs().size(); ++i)
        graph.replace_all_uses(op->output(i), (*same)->output(i));
      graph.merge_location(*same, op->location());
      merged.push_back(op);
      stats.count("operations");
      ++stats.changes;
    }
    // The last first: they stand at the end of the use lists of what they read, which may be long.
    for (auto it = merged.rbegin(); it != merged.rend(); ++it) graph.erase(*it);
    return stats;
  }

 private:
  static void merge_constants(Graph& graph, PassStats& stats) {
    // Only constants of a type that occurs twice are looked into.
    std::vector<Tensor*> constants;
    std::unordered_map<uint64_t, int> of_type;
    for (Tensor* tensor : graph.tensors()) {
      if (!tensor->is_constant()) continue;
      constants.push_back(tensor);
      ++of_type[hash_type(tensor->type())];
    }
    std::unordered_map<uint64_t, std::vector<Tensor*>> known;
    for (Tensor* tensor : constants) {
      if (of_type[hash_type(tensor->type())] < 2) continue;
      std::vector<Tensor*>& equal_hash = known[hash_constant(*tensor)];
      const auto same = std::find_if(equal_hash.begin(), equal_hash.end(),
                                     [&](const Tensor* t) { return same_constant(*t, *tensor); });
      if (same == equal_hash.end()) {
        equal_hash.push_back(tensor);
        continue;
      }
      graph.replace_all_uses(tensor, *same);
      graph.erase(tensor);
      stats.count("constants");
      ++stats.changes;
    }
  }
};

}  // namespace

const PassInfo kCommonSubexpressionsPass{
    .name = "common-subexpressions",
    .summary = "Merges operations that compute the same and constants with equal content.",
    .details =
        "Two operations are the same when kind, attributes and operands are equal (in either "
        "order where operands commute). Random operations and operations with bodies stay.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<CommonSubexpressions>();
    }};

}  // namespace ec::passes
