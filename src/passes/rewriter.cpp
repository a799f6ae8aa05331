#include "passes/rewriter.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "analysis/work.h"
#include "ir/permuted_quant.h"
#include "ops/kernel.h"
#include "ops/op_def.h"
#include "passes/settle.h"
#include "support/budget.h"

namespace ec {

Location Rewriter::merged(std::initializer_list<const Operation*> ops) {
  Location location;
  for (const Operation* op : ops)
    if (op != nullptr) location.merge(op->location());
  return location;
}

Result<Tensor*> Rewriter::add(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs,
                              std::initializer_list<const Operation*> from) {
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = merged(from);
  EC_TRY(const Operation* op, add_op(kind, std::move(inputs), std::move(spec)));
  return op->output();
}

Result<Operation*> Rewriter::add_op(OpKind kind, std::vector<Tensor*> inputs, OpSpec spec) {
  EC_TRY(Operation * op, graph_.add(kind, std::move(inputs), std::move(spec)));
  push(op);
  return op;
}

Result<Tensor*> Rewriter::reshape(Tensor* x, std::span<const int64_t> sizes,
                                  std::initializer_list<const Operation*> from) {
  EC_TRY(Tensor * result, add(OpKind::Reshape, {x, ints(sizes)}, ReshapeAttrs{}, from));
  if (x->type().quant && !x->type().quant->per_channel()) graph_.set_quant(result, x->type().quant);
  return result;
}

Result<Tensor*> Rewriter::transpose(Tensor* x, std::vector<int64_t> perm,
                                    std::initializer_list<const Operation*> from) {
  std::optional<QuantParams> quant = permuted(x->type().quant, perm);
  EC_TRY(Tensor * result,
         add(OpKind::Transpose, {x}, TransposeAttrs{.perm = std::move(perm)}, from));
  graph_.set_quant(result, std::move(quant));
  return result;
}

Result<Tensor*> Rewriter::add_folded(OpKind kind, std::vector<Tensor*> constants, Attrs attrs) {
  std::vector<Value> values(constants.size());
  std::vector<const Value*> operands(constants.size(), nullptr);
  size_t bytes = 64;
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i] == nullptr) continue;
    values[i] = Value(constants[i]->dtype(), constants[i]->shape()->sizes(), constants[i]->data());
    operands[i] = &values[i];
    bytes = std::max(bytes, values[i].data.size());
  }
  OpSpec spec;
  spec.attrs = std::move(attrs);
  EC_TRY(Operation * op, add_op(kind, std::move(constants), std::move(spec)));
  if (estimate_work(*op) > most_fold_work(bytes)) return op->output();
  auto results = evaluate(*op, operands, bytes);
  if (!results.ok()) return op->output();
  Value& value = results->front();
  TensorType type = value.type();
  Tensor* constant = graph_.add_constant("", std::move(type), std::move(value.data));
  erase_if_unused(op);
  return constant;
}

bool Rewriter::interchangeable(const Tensor* from, const Tensor* to) {
  return from->dtype() == to->dtype() && from->type().quant == to->type().quant;
}

void Rewriter::replace(Operation* op, Tensor* result) {
  Tensor* const results[] = {result};
  replace_results(op, results);
}

bool Rewriter::forward(Operation* op, Tensor* x) {
  if (!interchangeable(op->output(), x)) return false;
  replace(op, x);
  return true;
}

void Rewriter::replace_results(Operation* op, std::span<Tensor* const> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor* from = op->output(i);
    Tensor* to = results[i];
    if (to == nullptr || from == to) continue;
    if (from->type().quant && !to->type().quant) graph_.set_quant(to, from->type().quant);
    push_users(from);
    graph_.replace_all_uses(from, to);
    if (to->producer() != nullptr) push(to->producer());
  }
  erase_if_unused(op);
}

void Rewriter::set_operand(Operation* op, size_t index, Tensor* tensor) {
  Tensor* old = op->input(index);
  graph_.set_operand(op, index, tensor);
  push(op);
  if (old != nullptr) erase_if_unused(old);
}

void Rewriter::erase_if_unused(Operation* op) {
  std::vector<Operation*> pending{op};
  while (!pending.empty()) {
    Operation* dead = pending.back();
    pending.pop_back();
    // A state goes together with what writes it: eliminate-dead-code removes both.
    bool used = dead->kind() == OpKind::ReadState;
    for (const Tensor* output : dead->outputs()) used = used || !graph_.is_unused(output);
    if (used) continue;
    const std::vector<Tensor*> inputs = dead->inputs();
    graph_.erase(dead);
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensor* input = inputs[i];
      if (input == nullptr) continue;
      bool seen = false;  // an operation may read a tensor twice
      for (size_t k = 0; k < i; ++k) seen = seen || inputs[k] == input;
      if (seen) continue;
      if (input->producer() != nullptr) {
        bool waiting = false;
        for (const Operation* other : pending) waiting = waiting || other == input->producer();
        if (!waiting) pending.push_back(input->producer());
        push(input->producer());
        // What reads the rest of the uses may have become a single user.
        if (input->uses().size() == 1) push(input->uses().front().op);
      } else if (input->is_constant() && graph_.is_unused(input)) {
        graph_.erase(input);
      }
    }
  }
}

void Rewriter::erase_if_unused(Tensor* tensor) {
  if (tensor->producer() != nullptr)
    erase_if_unused(tensor->producer());
  else if (tensor->is_constant() && graph_.is_unused(tensor))
    graph_.erase(tensor);
}

void Rewriter::push(Operation* op) {
  if (op->id() >= queued_.size()) queued_.resize(graph_.operation_id_bound(), false);
  if (queued_[op->id()]) return;
  queued_[op->id()] = true;
  queue_.push_back(op->id());
}

void Rewriter::push_users(const Tensor* tensor) {
  for (const Use& use : tensor->uses()) push(use.op);
}

void Rewriter::push_all() {
  for (Operation* op : graph_.topological()) push(op);
}

Operation* Rewriter::pop() {
  while (head_ < queue_.size()) {
    const uint32_t id = queue_[head_++];
    queued_[id] = false;
    if (Operation* op = graph_.operation(id)) return op;
  }
  queue_.clear();
  head_ = 0;
  return nullptr;
}

namespace {

constexpr size_t kNumKinds = 0
#define EC_OP(Name, text, AttrsType) +1
#include "ops/ops.def"
#undef EC_OP
    ;

}  // namespace

Result<PassStats> apply_rules(Graph& graph, PassContext& context,
                              std::span<const RewriteRule> rules) {
  std::array<std::vector<const RewriteRule*>, kNumKinds> by_kind;
  for (const RewriteRule& rule : rules) by_kind[static_cast<size_t>(rule.kind)].push_back(&rule);
  Rewriter rewriter(graph, context);
  for (Operation* op : graph.topological())
    if (!by_kind[static_cast<size_t>(op->kind())].empty()) rewriter.push(op);
  PassStats& stats = rewriter.stats();
  const int64_t most = most_rewrites(graph.num_operations());
  while (Operation* op = rewriter.pop()) {
    EC_CHECK_OK(check_budget());
    const auto& candidates = by_kind[static_cast<size_t>(op->kind())];
    if (candidates.empty()) continue;
    ++stats.visits;
    const uint32_t id = op->id();
    for (const RewriteRule* rule : candidates) {
      EC_TRY(const bool changed, rule->apply(rewriter, op));
      if (!changed) continue;
      ++stats.changes;
      if (!rule->name.empty()) stats.count(rule->name);
      if (stats.changes >= most) {
        stats.count(kUnsettled);
        return std::move(stats);
      }
      if (Operation* left = graph.operation(id)) rewriter.push(left);
      break;
    }
  }
  return std::move(stats);
}

}  // namespace ec
