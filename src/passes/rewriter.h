// The engine of pattern passes: a worklist of operations, functions that try to rewrite around one
// operation, and the changes they make. Every operation is visited once, and again only when
// something next to it changed, so that a pass is linear in the graph plus its rewrites.
//
// Rules that keep rewrites sound and traceable:
//  - a rewrite adds new operations and replaces results; it does not change an operation's meaning
//    in place, so that a tensor's name always stands for the same value as in the source model;
//  - the new operation carries the locations of all operations that it replaces;
//  - what nothing reads any more is erased at once, so that single-use conditions hold later.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "ops/attrs.h"
#include "passes/pass.h"

namespace ec {

class Rewriter {
 public:
  Rewriter(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  Graph& graph() { return graph_; }
  PassContext& context() { return context_; }
  PassStats& stats() { return stats_; }

  // --- adding -----------------------------------------------------------------------------------
  // One operation with one result; its location is that of the operations in `from`, in order.
  Result<Tensor*> add(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs,
                      std::initializer_list<const Operation*> from);
  Result<Operation*> add_op(OpKind kind, std::vector<Tensor*> inputs, OpSpec spec);
  Tensor* ints(std::span<const int64_t> values) { return graph_.add_ints("", values); }
  Tensor* ints(std::initializer_list<int64_t> values) {
    return graph_.add_ints("", std::span<const int64_t>(values.begin(), values.size()));
  }
  // Reshape to the given static sizes (-1 and 0 as in the op).
  Result<Tensor*> reshape(Tensor* x, std::span<const int64_t> sizes,
                          std::initializer_list<const Operation*> from);
  Result<Tensor*> transpose(Tensor* x, std::vector<int64_t> perm,
                            std::initializer_list<const Operation*> from);

  // The result of an operation on constants, computed now. When it cannot be computed, or would be
  // larger than its operands, the operation stays.
  Result<Tensor*> add_folded(OpKind kind, std::vector<Tensor*> constants, Attrs attrs = {});
  Tensor* scalar(DType dtype, double value) { return graph_.add_scalar("", dtype, value); }

  // --- replacing --------------------------------------------------------------------------------
  // True when readers of `from` may read `to` instead: same element type and quantisation.
  static bool interchangeable(const Tensor* from, const Tensor* to);
  // All readers of the operation's only used result read `result`; then the operation is erased
  // with everything that only it read. Quantisation moves on to a result that has none.
  void replace(Operation* op, Tensor* result);
  // replace() where the operation returns its operand unchanged; false when quantisation differs.
  bool forward(Operation* op, Tensor* x);
  void replace_results(Operation* op, std::span<Tensor* const> results);
  void set_operand(Operation* op, size_t index, Tensor* tensor);
  // Erases the operation if nothing reads its results, and then its operands' producers likewise.
  void erase_if_unused(Operation* op);
  void erase_if_unused(Tensor* tensor);  // a constant, or a result and its operation

  // --- the worklist -----------------------------------------------------------------------------
  void push(Operation* op);
  void push_users(const Tensor* tensor);
  void push_all();   // every operation, producers first
  Operation* pop();  // null when empty

  static Location merged(std::initializer_list<const Operation*> ops);

 private:
  Graph& graph_;
  PassContext& context_;
  PassStats stats_;
  std::vector<uint32_t> queue_;
  size_t head_ = 0;
  std::vector<bool> queued_;
};

// Tries to rewrite around `op`; true when it did (op may be gone then). On false the graph is as
// before.
using RewriteFn = Result<bool> (*)(Rewriter& rewriter, Operation* op);

struct RewriteRule {
  OpKind kind;
  RewriteFn apply;
  std::string_view name = {};  // counted in the statistics
};

// Applies the rules until none applies.
Result<PassStats> apply_rules(Graph& graph, PassContext& context,
                              std::span<const RewriteRule> rules);

// A pass that is a list of rules.
class RulePass : public Pass {
 public:
  RulePass(std::string_view name, std::span<const RewriteRule> rules)
      : name_(name), rules_(rules) {}
  std::string_view name() const override { return name_; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    return apply_rules(graph, context, rules_);
  }

 private:
  std::string_view name_;
  std::span<const RewriteRule> rules_;
};

}  // namespace ec
