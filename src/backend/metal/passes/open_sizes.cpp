// Forms of operations on tensors with open sizes, whose shapes the program computes.
#include <algorithm>
#include <limits>

#include "backend/metal/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

bool is_open(const Tensor* tensor) { return tensor->shape() && !tensor->shape()->is_static(); }

// A broadcast to a computed shape: ones of that shape times x, which no number changes.
Result<bool> expand_by_ones(Rewriter& r, Operation* op) {
  Tensor *x = op->input(0), *target = op->input(1);
  if (!is_open(op->output()) || has_quant(op)) return false;
  Replacement p(r, op);
  Tensor* ones = p.op(OpKind::Fill, {target, p.number(x, 1)});
  return p.replace(p.op(x->dtype() == DType::Bool ? OpKind::And : OpKind::Mul, {x, ones}));
}

// One index from the end of an open size: a slice that counts from there.
Result<bool> gather_from_end(Rewriter& r, Operation* op) {
  const Tensor* x = op->input(0);
  const auto rank = rank_of(x);
  const auto index = scalar_value(op->input(1));
  if (!rank || !index || *index >= 0 || !is_constant(op->input(1)) || has_quant(op)) return false;
  const int64_t axis = positive_axis(op->attrs_as<GatherAttrs>().axis, *rank);
  const size_t index_rank = op->input(1)->shape()->rank();
  if ((*x->shape())[static_cast<size_t>(axis)].is_static() || index_rank > 1) return false;
  Replacement p(r, op);
  const auto start = static_cast<int64_t>(*index);
  const int64_t end = start == -1 ? std::numeric_limits<int64_t>::max() : start + 1;
  Tensor* one = p.slice(op->input(0), axis, start, end);
  const int64_t axes[] = {axis};
  return p.replace(index_rank == 1 ? one : p.op(OpKind::Squeeze, {one, p.ints(axes)}));
}

// Programs take the shape of a choice from its branches: where the condition may be larger, one of
// them gets its shape.
Result<bool> widen_open_branch(Rewriter& r, Operation* op) {
  Tensor *condition = op->input(0), *a = op->input(1), *b = op->input(2);
  if (!is_open(op->output()) || has_quant(op) || op->output()->dtype() == DType::Bool) return false;
  if (broadcasts_into(condition, a) || broadcasts_into(condition, b)) return false;
  // Sizes that are not known are not compared: ones of this shape are there already.
  for (const Tensor* branch : {a, b})
    for (const Operation* at = branch->producer(); at != nullptr && at->kind() == OpKind::Mul;
         at = nullptr)
      if (const Operation* ones = at->input(1)->producer();
          ones != nullptr && ones->kind() == OpKind::Fill)
        if (const Operation* shape = ones->input(0)->producer();
            shape != nullptr && shape->kind() == OpKind::Shape && shape->input(0) == condition)
          return false;
  Replacement p(r, op);
  Tensor* shape = p.op(OpKind::Shape, {condition}, ShapeAttrs{});
  Tensor* ones = p.op(OpKind::Fill, {shape, p.number(a, 1)});
  return p.replace(p.op(OpKind::Where, {condition, p.mul(a, ones), b}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Expand, expand_by_ones, "broadcasts to open sizes"},
    {OpKind::Gather, gather_from_end, "indices from the end of open sizes"},
    {OpKind::Where, widen_open_branch, "choices of open sizes"},
};

}  // namespace

const std::span<const RewriteRule> kMilOpenSizes = kRules;

}  // namespace ec::passes
