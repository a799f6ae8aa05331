// recover-softmax: softmax written as arithmetic, and the guard of decomposed attention around it.
//
//   e = exp(%x);  e / sum(e)                          -> softmax(%x)
//   %x - log(sum(exp(%x)))                            -> log_softmax(%x)
//   softmax(%x - max(%x))                             -> softmax(%x)
//   where(not any(%x != -inf), 0, softmax(%x))        -> softmax(%x) where no row is all -inf
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec::passes {
namespace {

// The one axis of a reduction that keeps its dimension.
std::optional<int64_t> kept_axis(const Operation* reduction) {
  if (!reduction->attrs_as<ReduceAttrs>().keep_dims) return std::nullopt;
  const auto axes = reduce_axes(reduction);
  return axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
}

bool has_readers(const Tensor* tensor, size_t count) {
  return tensor->uses().size() == count && !tensor->uses().front().op->graph().is_output(tensor);
}

// exp(x) / sum(exp(x))
Result<bool> quotient_of_exponentials(Rewriter& rewriter, Operation* op) {
  if (has_quant(op) || !is_float(op->output()->dtype())) return false;
  const Operation* exp = produced_by(op->input(0), OpKind::Exp);
  const Operation* sum = produced_by(op->input(1), OpKind::ReduceSum);
  if (exp == nullptr || sum == nullptr || sum->input(0) != exp->output()) return false;
  const auto axis = kept_axis(sum);
  if (!axis || !has_readers(exp->output(), 2) || !has_single_use(sum->output())) return false;
  EC_TRY(Tensor * result,
         rewriter.add(OpKind::Softmax, {exp->input(0)}, AxisAttrs{.axis = *axis}, {exp, sum, op}));
  rewriter.replace(op, result);
  return true;
}

// x - log(sum(exp(x)))
Result<bool> difference_from_log_sum(Rewriter& rewriter, Operation* op) {
  if (has_quant(op) || !is_float(op->output()->dtype())) return false;
  const Operation* log = produced_by(op->input(1), OpKind::Log);
  const Operation* sum = log != nullptr ? produced_by(log->input(0), OpKind::ReduceSum) : nullptr;
  const Operation* exp = sum != nullptr ? produced_by(sum->input(0), OpKind::Exp) : nullptr;
  if (exp == nullptr || exp->input(0) != op->input(0)) return false;
  const auto axis = kept_axis(sum);
  if (!axis || !has_single_use(exp->output()) || !has_single_use(sum->output()) ||
      !has_single_use(log->output()))
    return false;
  EC_TRY(Tensor * result, rewriter.add(OpKind::LogSoftmax, {op->input(0)}, AxisAttrs{.axis = *axis},
                                       {exp, sum, log, op}));
  rewriter.replace(op, result);
  return true;
}

// softmax(x - max(x)): every softmax subtracts the largest value itself.
Result<bool> shifted_by_maximum(Rewriter& rewriter, Operation* op) {
  const Operation* sub = produced_by(op->input(0), OpKind::Sub);
  if (sub == nullptr || has_quant(op) || has_quant(sub) || !has_single_use(op->input(0)))
    return false;
  const Operation* max = produced_by(sub->input(1), OpKind::ReduceMax);
  const auto rank = rank_of(op->input(0));
  if (max == nullptr || max->input(0) != sub->input(0) || !rank) return false;
  if (kept_axis(max) != positive_axis(op->attrs_as<AxisAttrs>().axis, *rank)) return false;
  EC_TRY(Tensor * result, rewriter.add(op->kind(), {sub->input(0)}, op->attrs(), {max, sub, op}));
  rewriter.replace(op, result);
  return true;
}

// --- the guard ----------------------------------------------------------------------------------

constexpr int kMaxDistance = 8;  // from the softmax to what its operand is made of

// Every row of a constant along its last dimension has a value that is not -inf.
bool has_finite_rows(const Tensor* mask) {
  const auto shape = static_shape(mask);
  if (!is_constant(mask) || !is_float(mask->dtype()) || !shape) return false;
  const size_t columns = shape->empty() ? 1 : static_cast<size_t>(shape->back());
  const std::vector<float> values = float_values(mask);
  if (columns == 0) return false;
  for (size_t row = 0; row < values.size(); row += columns)
    if (std::none_of(values.begin() + static_cast<std::ptrdiff_t>(row),
                     values.begin() + static_cast<std::ptrdiff_t>(row + columns),
                     [](float v) { return std::isfinite(v); }))
      return false;
  return true;
}

// The operand is a product of matrices, scaled, with at most one constant mask added that leaves
// something of every row (the last dimension). Finite operands then give no row of nothing but
// -inf.
bool every_row_sees_something(const Tensor* scores) {
  bool masked = false;
  for (int i = 0; i < kMaxDistance; ++i) {
    const Operation* op = scores->producer();
    if (op == nullptr || has_quant(op)) return false;
    if (op->kind() == OpKind::MatMul) return true;
    if (is_view(op)) {
      const auto from = static_shape(op->input(0)), to = static_shape(scores);
      if (!from || !to || from->empty() || to->empty() || from->back() != to->back()) return false;
      scores = op->input(0);
      continue;
    }
    const WithConstant match = with_constant(op);
    if (!match) return false;
    if (op->kind() == OpKind::Add && !masked && same_shape(match.x, scores)) {
      if (!has_finite_rows(match.constant)) return false;
      masked = true;
    } else {
      const auto factor = with_scalar(op);
      if ((op->kind() != OpKind::Mul && op->kind() != OpKind::Div) || !factor ||
          !std::isnormal(factor.value))
        return false;
    }
    scores = match.x;
  }
  return false;
}

const Operation* look_through_casts(const Tensor* tensor) {
  const Operation* op = tensor->producer();
  while (op != nullptr && op->kind() == OpKind::Cast) op = op->input(0)->producer();
  return op;
}

// x == -inf, or nothing.
const Tensor* compared_with_minus_infinity(const Operation* equal) {
  if (equal == nullptr || equal->kind() != OpKind::Equal) return nullptr;
  for (size_t side = 0; side < 2; ++side)
    if (splat_value(equal->input(side)) == -std::numeric_limits<double>::infinity())
      return equal->input(1 - side);
  return nullptr;
}

// x where the condition says that all of x's row is -inf: not(any(not(x == -inf))), with `any` as
// the maximum, or all(x == -inf) as the minimum.
const Tensor* wholly_masked(const Tensor* condition, int64_t& axis) {
  const Operation* op = look_through_casts(condition);
  const bool negated = op != nullptr && op->kind() == OpKind::Not;
  const Operation* reduction = negated ? look_through_casts(op->input(0)) : op;
  if (reduction == nullptr ||
      reduction->kind() != (negated ? OpKind::ReduceMax : OpKind::ReduceMin))
    return nullptr;
  const auto reduced = kept_axis(reduction);
  if (!reduced) return nullptr;
  axis = *reduced;
  const Operation* inner = look_through_casts(reduction->input(0));
  if (!negated) return compared_with_minus_infinity(inner);
  if (inner == nullptr || inner->kind() != OpKind::Not) return nullptr;
  return compared_with_minus_infinity(look_through_casts(inner->input(0)));
}

// where(all of the row is -inf, 0, softmax(x)): PyTorch's attention, written out.
Result<bool> guarded(Rewriter& rewriter, Operation* op) {
  Tensor* softmax_value = op->input(2);
  const Operation* softmax = produced_by(softmax_value, OpKind::Softmax);
  if (softmax == nullptr || has_quant(op) || !is_splat(op->input(1), 0)) return false;
  const auto rank = rank_of(softmax_value);
  int64_t axis = 0;
  if (!rank || wholly_masked(op->input(0), axis) != softmax->input(0)) return false;
  if (axis != positive_axis(softmax->attrs_as<AxisAttrs>().axis, *rank) ||
      axis != static_cast<int64_t>(*rank) - 1 || !same_shape(op->output(), softmax_value) ||
      !every_row_sees_something(softmax->input(0)))
    return false;
  rewriter.replace(op, softmax_value);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Div, quotient_of_exponentials, "softmax"},
    {OpKind::Sub, difference_from_log_sum, "log_softmax"},
    {OpKind::Softmax, shifted_by_maximum, "shifts"},
    {OpKind::LogSoftmax, shifted_by_maximum, "shifts"},
    {OpKind::Where, guarded, "guards"},
};

}  // namespace

const PassInfo kRecoverSoftmaxPass{
    .name = "recover-softmax",
    .summary = "Finds softmax in arithmetic and drops guards that cannot matter.",
    .details =
        "exp(x) / sum(exp(x)) and x - log(sum(exp(x))), with or without the largest value "
        "subtracted first. Decomposed attention of PyTorch gives zeros for rows in which nothing "
        "may be seen; where the scores are a product with a constant mask that leaves something "
        "of every row, there are no such rows, and the guard goes.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverSoftmaxPass.name, kRules);
    }};

}  // namespace ec::passes
