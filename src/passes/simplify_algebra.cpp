// simplify-algebra: shorter forms of element-wise arithmetic.
//
//   (x * c1) * c2 -> x * (c1 c2)    x * reciprocal(y) -> x / y    max(x, 0) -> relu(x)
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op_def.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

bool all_normal(const Tensor* constant) {
  for (const double value : double_values(constant))
    if (value != 0 && !std::isnormal(value)) return false;
  return true;
}

bool is_inverse(OpKind kind) { return kind == OpKind::Sub || kind == OpKind::Div; }

// One number is added to what has a bias, and then clipped: the beginning of a hard sigmoid, which
// recover-activations finds. The bias goes into the layer before it later.
bool begins_hard_sigmoid(const Operation* op, const WithConstant& inner,
                         const WithConstant& outer) {
  return op->kind() == OpKind::Add && outer.constant->type().num_elements() == 1 &&
         inner.constant->type().num_elements() != 1 && has_single_use(op->output()) &&
         op->output()->uses().front().op->kind() == OpKind::Clip;
}

// Two constants applied one after the other become one:
//   (x + c1) + c2, (x - c1) + c2, ... -> x + c     (x * c1) * c2, (x / c1) * c2, ... -> x * c
Result<bool> merge_constants(Rewriter& rewriter, Operation* op) {
  const bool additive = op->kind() == OpKind::Add || op->kind() == OpKind::Sub;
  const OpKind direct = additive ? OpKind::Add : OpKind::Mul;
  const OpKind inverse = additive ? OpKind::Sub : OpKind::Div;
  const WithConstant outer = with_constant(op);
  if (!outer || has_quant(op)) return false;
  Operation* inner_op = produced_by(outer.x, direct);
  if (inner_op == nullptr) inner_op = produced_by(outer.x, inverse);
  if (inner_op == nullptr || !has_single_use(outer.x) || has_quant(inner_op)) return false;
  const WithConstant inner = with_constant(inner_op);
  if (!inner || begins_hard_sigmoid(op, inner, outer)) return false;
  // Integer division rounds each time.
  const bool divides = op->kind() == OpKind::Div || inner_op->kind() == OpKind::Div;
  if (divides && !is_float(op->output()->dtype())) return false;
  // The joint constant must be no larger than the larger of the two.
  if (!broadcasts_into(inner.constant, outer.constant) &&
      !broadcasts_into(outer.constant, inner.constant))
    return false;
  const bool inner_inverse = is_inverse(inner_op->kind());
  const bool outer_inverse = is_inverse(op->kind());
  Tensor* joint = nullptr;
  if (inner_inverse == outer_inverse) {
    EC_TRY(joint, rewriter.add_folded(direct, {inner.constant, outer.constant}));
  } else if (inner_inverse) {
    EC_TRY(joint, rewriter.add_folded(inverse, {outer.constant, inner.constant}));
  } else {
    EC_TRY(joint, rewriter.add_folded(inverse, {inner.constant, outer.constant}));
  }
  if (!is_constant(joint) || (is_float(joint->dtype()) && !all_normal(joint))) {
    rewriter.erase_if_unused(joint);
    return false;
  }
  const OpKind kind = inner_inverse && outer_inverse ? inverse : direct;
  EC_TRY(Tensor * result, rewriter.add(kind, {inner.x, joint}, NoAttrs{}, {inner_op, op}));
  rewriter.replace(op, result);
  return true;
}

// x + (-y) -> x - y,  x - (-y) -> x + y
Result<bool> absorb_negation(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  if (op->kind() == OpKind::Sub) {
    Operation* neg = produced_by(op->input(1), OpKind::Neg);
    if (neg == nullptr) return false;
    EC_TRY(Tensor * sum,
           rewriter.add(OpKind::Add, {op->input(0), neg->input(0)}, NoAttrs{}, {neg, op}));
    rewriter.replace(op, sum);
    return true;
  }
  const Operands match = operand_from(op, OpKind::Neg);
  if (!match || is_constant(match.other)) return false;
  EC_TRY(Tensor * difference, rewriter.add(OpKind::Sub, {match.other, match.producer->input(0)},
                                           NoAttrs{}, {match.producer, op}));
  rewriter.replace(op, difference);
  return true;
}

// -(a - b) -> b - a,  -(x * c) -> x * (-c),  -(x / c) -> x / (-c)
Result<bool> negated_expression(Rewriter& rewriter, Operation* op) {
  Operation* inner = op->input(0)->producer();
  if (inner == nullptr || !has_single_use(op->input(0)) || has_quant(inner)) return false;
  if (inner->kind() == OpKind::Sub) {
    EC_TRY(Tensor * result,
           rewriter.add(OpKind::Sub, {inner->input(1), inner->input(0)}, NoAttrs{}, {inner, op}));
    rewriter.replace(op, result);
    return true;
  }
  const bool scales = inner->kind() == OpKind::Mul || inner->kind() == OpKind::Div;
  const WithConstant match = scales ? with_constant(inner) : WithConstant{};
  if (!match || !is_float(op->output()->dtype())) return false;
  EC_TRY(Tensor * negative, rewriter.add_folded(OpKind::Neg, {match.constant}));
  EC_TRY(Tensor * result, rewriter.add(inner->kind(), {match.x, negative}, NoAttrs{}, {inner, op}));
  rewriter.replace(op, result);
  return true;
}

// x * reciprocal(y) -> x / y
Result<bool> multiply_by_reciprocal(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  const Operands match = operand_from(op, OpKind::Reciprocal);
  if (!match || !is_float(op->output()->dtype())) return false;
  if (!has_single_use(match.producer->output())) return false;
  EC_TRY(Tensor * quotient, rewriter.add(OpKind::Div, {match.other, match.producer->input(0)},
                                         NoAttrs{}, {match.producer, op}));
  rewriter.replace(op, quotient);
  return true;
}

// x * -1 -> -x,  x ^ 2 -> x * x,  x ^ 0.5 -> sqrt(x),  x ^ -1 -> reciprocal(x)
Result<bool> multiply_by_minus_one(Rewriter& rewriter, Operation* op) {
  const WithScalar match = with_scalar(op);
  if (!match || match.value != -1 || has_quant(op)) return false;
  EC_TRY(Tensor * result, rewriter.add(OpKind::Neg, {match.x}, NoAttrs{}, {op}));
  rewriter.replace(op, result);
  return true;
}

Result<bool> simple_power(Rewriter& rewriter, Operation* op) {
  const WithScalar match = with_scalar(op);
  if (!match || !is_float(op->output()->dtype()) || has_quant(op)) return false;
  Tensor* result = nullptr;
  if (match.value == 2) {
    EC_TRY(result, rewriter.add(OpKind::Mul, {match.x, match.x}, NoAttrs{}, {op}));
  } else if (match.value == 0.5) {
    EC_TRY(result, rewriter.add(OpKind::Sqrt, {match.x}, NoAttrs{}, {op}));
  } else if (match.value == -1) {
    EC_TRY(result, rewriter.add(OpKind::Reciprocal, {match.x}, NoAttrs{}, {op}));
  } else {
    return false;
  }
  rewriter.replace(op, result);
  return true;
}

// --- limits -------------------------------------------------------------------------------------

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Limits {
  Tensor* x = nullptr;
  double low = -kInfinity, high = kInfinity;
};

// relu, clip, max and min with a scalar, as limits.
std::optional<Limits> limits_of(const Operation* op) {
  if (op == nullptr || has_quant(op) || !is_float(op->output()->dtype())) return std::nullopt;
  switch (op->kind()) {
    case OpKind::Relu:
      return Limits{op->input(0), 0, kInfinity};
    case OpKind::Max:
    case OpKind::Min: {
      const WithScalar match = with_scalar(op);
      if (!match || std::isnan(match.value)) return std::nullopt;
      if (op->kind() == OpKind::Max) return Limits{match.x, match.value, kInfinity};
      return Limits{match.x, -kInfinity, match.value};
    }
    case OpKind::Clip: {
      Limits limits{op->input(0)};
      if (op->input(1) != nullptr) {
        const auto low = scalar_value(op->input(1));
        if (!low) return std::nullopt;
        limits.low = *low;
      }
      if (op->input(2) != nullptr) {
        const auto high = scalar_value(op->input(2));
        if (!high) return std::nullopt;
        limits.high = *high;
      }
      if (!(limits.low <= limits.high)) return std::nullopt;
      return limits;
    }
    default:
      return std::nullopt;
  }
}

bool is_canonical(const Operation* op, const Limits& limits) {
  if (op->kind() == OpKind::Relu) return true;
  if (op->kind() != OpKind::Clip) return false;
  const auto lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  const auto highest = static_cast<double>(std::numeric_limits<float>::max());
  if (limits.low == 0 && limits.high >= highest) return false;       // relu
  if (limits.low <= lowest && limits.high >= highest) return false;  // nothing
  return (op->input(1) == nullptr || limits.low > lowest) &&
         (op->input(2) == nullptr || limits.high < highest);
}

// Limits of limits are limits: one clip, or relu where that is what it is.
Result<bool> canonical_limits(Rewriter& rewriter, Operation* op) {
  auto limits = limits_of(op);
  if (!limits) return false;
  Location location = op->location();
  bool merged = false;
  const Operation* inner_op = limits->x->producer();
  if (const auto inner = limits_of(inner_op); inner && has_single_use(limits->x)) {
    // clip(clip(x, l1, h1), l2, h2): both inner limits are clipped by the outer ones.
    limits = Limits{inner->x, std::clamp(inner->low, limits->low, limits->high),
                    std::clamp(inner->high, limits->low, limits->high)};
    location = inner_op->location();
    location.merge(op->location());
    merged = true;
  }
  if (!merged && is_canonical(op, *limits)) return false;
  const DType dtype = op->output()->dtype();
  const bool bounded_below =
      limits->low > static_cast<double>(std::numeric_limits<float>::lowest());
  const bool bounded_above = limits->high < static_cast<double>(std::numeric_limits<float>::max());
  if (!bounded_below && !bounded_above) {
    rewriter.replace(op, limits->x);
    return true;
  }
  OpSpec spec;
  spec.location = std::move(location);
  OpKind kind = OpKind::Relu;
  std::vector<Tensor*> inputs{limits->x};
  if (limits->low != 0 || bounded_above) {
    kind = OpKind::Clip;
    inputs.push_back(bounded_below ? rewriter.scalar(dtype, limits->low) : nullptr);
    if (bounded_above) inputs.push_back(rewriter.scalar(dtype, limits->high));
  }
  EC_TRY(const Operation* result, rewriter.add_op(kind, std::move(inputs), std::move(spec)));
  rewriter.replace(op, result->output());
  return true;
}

// --- casts --------------------------------------------------------------------------------------

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::Bool) return true;
  if (is_integer(from) && is_integer(to)) {
    if (is_signed_integer(from) && !is_signed_integer(to)) return false;
    const bool same_sign = is_signed_integer(from) == is_signed_integer(to);
    return same_sign ? bit_width(to) >= bit_width(from) : bit_width(to) > bit_width(from);
  }
  if (is_integer(from)) {
    if (to == DType::F32) return bit_width(from) <= 16;
    return to == DType::F64 && bit_width(from) <= 32;
  }
  if (from == DType::F16 || from == DType::BF16) return to == DType::F32 || to == DType::F64;
  return from == DType::F32 && to == DType::F64;
}

// cast(cast(x)) -> cast(x) when the first one loses nothing.
Result<bool> merge_casts(Rewriter& rewriter, Operation* op) {
  Operation* inner = produced_by(op->input(0), OpKind::Cast);
  if (inner == nullptr || has_quant(op) || has_quant(inner)) return false;
  Tensor* x = inner->input(0);
  if (!widens(x->dtype(), inner->output()->dtype())) return false;
  EC_TRY(Tensor * result, rewriter.add(OpKind::Cast, {x}, op->attrs(), {inner, op}));
  rewriter.replace(op, result);
  return true;
}

// log(softmax(x)) -> log_softmax(x)
Result<bool> log_of_softmax(Rewriter& rewriter, Operation* op) {
  Operation* softmax = produced_by(op->input(0), OpKind::Softmax);
  if (softmax == nullptr || !has_single_use(op->input(0)) || has_quant(op)) return false;
  EC_TRY(Tensor * result,
         rewriter.add(OpKind::LogSoftmax, {softmax->input(0)}, softmax->attrs(), {softmax, op}));
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Add, merge_constants, "constants merged"},
    {OpKind::Sub, merge_constants, "constants merged"},
    {OpKind::Mul, merge_constants, "constants merged"},
    {OpKind::Div, merge_constants, "constants merged"},
    {OpKind::Add, absorb_negation, "negations absorbed"},
    {OpKind::Sub, absorb_negation, "negations absorbed"},
    {OpKind::Neg, negated_expression, "negations absorbed"},
    {OpKind::Mul, multiply_by_reciprocal, "reciprocals absorbed"},
    {OpKind::Mul, multiply_by_minus_one, "simpler operations"},
    {OpKind::Pow, simple_power, "simpler operations"},
    {OpKind::Relu, canonical_limits, "limits merged"},
    {OpKind::Clip, canonical_limits, "limits merged"},
    {OpKind::Max, canonical_limits, "limits merged"},
    {OpKind::Min, canonical_limits, "limits merged"},
    {OpKind::Cast, merge_casts, "casts merged"},
    {OpKind::Log, log_of_softmax, "log of softmax"},
};

}  // namespace

const PassInfo kSimplifyAlgebraPass{
    .name = "simplify-algebra",
    .summary = "Shortens element-wise arithmetic: constants merged, limits to clip or relu.",
    .details =
        "Constants applied one after the other become one (floats may round differently in the "
        "last place; never where the joint constant over- or underflows, and never across integer "
        "division). max, min, relu and clip with scalars become one clip or relu. Casts merge when "
        "the first one loses nothing.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kSimplifyAlgebraPass.name, kRules);
    }};

}  // namespace ec::passes
