// Arithmetic that programs lack.
#include <cmath>

#include "backend/metal/passes/rules.h"
#include "ops/fake_quant.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// Programs round quotients of integers down; the graph rounds them towards zero.
Result<bool> expand_integer_division(Rewriter& r, Operation* op) {
  const DType dtype = op->output()->dtype();
  if (!is_plain(op) || !is_integer(dtype)) return false;
  Replacement p(r, op);
  Tensor *a = op->input(0), *b = op->input(1);
  const auto divisor = int_values(b), dividend = int_values(a);
  const auto positive = [](const std::optional<std::vector<int64_t>>& values) {
    if (!values) return false;
    for (const int64_t value : *values)
      if (value < 0) return false;
    return true;
  };
  // Sizes are the integers that graphs divide.
  if (positive(divisor) && (positive(dividend) || a->dim_values()))
    return p.replace(p.op(OpKind::FloorDiv, {a, b}));
  Tensor* quotient = p.op(OpKind::FloorDiv, {a, b});
  Tensor* below = p.op(OpKind::Less, {quotient, p.number(quotient, 0)});
  Tensor* inexact = p.unary(OpKind::Not, p.op(OpKind::Equal, {p.mul(quotient, b), a}));
  return p.replace(
      p.op(OpKind::Where, {p.op(OpKind::And, {below, inexact}), p.add(quotient, 1.0), quotient}));
}

// The angle by the quotient, moved into the half plane that the signs tell.
Result<bool> expand_atan2(Rewriter& r, Operation* op) {
  if (!is_plain(op) || !is_float(op->output()->dtype())) return false;
  constexpr double kPi = 3.14159265358979323846;
  Replacement p(r, op);
  Tensor *y = op->input(0), *x = op->input(1);
  Tensor* zero_x = p.op(OpKind::Equal, {x, p.number(x, 0)});
  Tensor* safe = p.op(OpKind::Where, {zero_x, p.number(x, 1), x});
  Tensor* angle = p.unary(OpKind::Atan, p.div(y, safe));
  Tensor* below = p.op(OpKind::Less, {y, p.number(y, 0)});
  Tensor* turn = p.op(OpKind::Where, {below, p.number(y, -kPi), p.number(y, kPi)});
  Tensor* left = p.op(OpKind::Less, {x, p.number(x, 0)});
  angle = p.op(OpKind::Where, {left, p.add(angle, turn), angle});
  Tensor* upright = p.mul(p.unary(OpKind::Sign, y), kPi / 2);
  return p.replace(p.op(OpKind::Where, {zero_x, upright, angle}));
}

// x - log(sum(exp(x))): the logarithm of a softmax is -inf where that rounds to zero.
Result<bool> expand_log_softmax(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!is_plain(op) || !rank) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const int64_t axis = positive_axis(op->attrs_as<AxisAttrs>().axis, *rank);
  return p.replace(p.sub(x, p.reduce(OpKind::ReduceLogSumExp, x, {axis})));
}

// Comparisons and choices between truth values, as numbers.
Result<bool> choose_numbers(Rewriter& r, Operation* op) {
  if (op->output()->dtype() != DType::Bool) return false;
  Replacement p(r, op);
  Tensor *c = op->input(0), *a = op->input(1), *b = op->input(2);
  Tensor* chosen = p.op(OpKind::And, {c, a});
  Tensor* other = p.op(OpKind::And, {p.unary(OpKind::Not, c), b});
  return p.replace(p.op(OpKind::Or, {chosen, other}));
}

// Programs take the shape of a choice from its branches: one of them gets the whole shape.
Result<bool> widen_branch(Rewriter& r, Operation* op) {
  const auto shape = static_shape(op->output());
  Tensor *a = op->input(1), *b = op->input(2);
  if (!shape || has_quant(op) || same_shape(a, op->output()) || same_shape(b, op->output()))
    return false;
  Replacement p(r, op);
  Tensor* whole = p.op(OpKind::Expand, {a, p.ints(*shape)});
  return p.replace(p.op(OpKind::Where, {op->input(0), whole, b}));
}

// Steps of a range that contains zero: 8 bits have a form of their own in programs, and this one
// serves every number of bits.
Result<bool> expand_fake_quant(Rewriter& r, Operation* op) {
  if (!is_float(op->output()->dtype())) return false;
  const FakeQuantSteps steps = fake_quant_steps(op->attrs_as<FakeQuantAttrs>());
  if (!(steps.scale > 0) || !std::isfinite(1 / steps.scale)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const double low = double{steps.low};
  Tensor* inside = p.op(OpKind::Clip, {x, p.number(x, low), p.number(x, double{steps.high})});
  Tensor* step = p.mul(p.sub(inside, low), double{1 / steps.scale});
  // Halves go up: steps are not negative.
  step = p.unary(OpKind::Floor, p.add(step, 0.5));
  return p.replace(p.add(p.mul(step, double{steps.scale}), low));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Div, expand_integer_division, "integer division"},
    {OpKind::Atan2, expand_atan2, "functions"},
    {OpKind::LogSoftmax, expand_log_softmax, "functions"},
    {OpKind::Where, choose_numbers, "truth values"},
    {OpKind::Where, widen_branch, "choices between numbers"},
    {OpKind::FakeQuant, expand_fake_quant, "simulated rounding"},
};

}  // namespace

const std::span<const RewriteRule> kMilArithmetic = kRules;

}  // namespace ec::passes
