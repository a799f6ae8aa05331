// Functions and arithmetic that TFLite lacks, as formulas of what it has.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

bool is_float_op(const Operation* op) { return is_plain(op) && is_float(op->output()->dtype()); }

Tensor* exp_of(Replacement& p, Tensor* x) { return p.unary(OpKind::Exp, x); }

// A rule from a formula of the only operand.
template <Tensor* (*kFormula)(Replacement&, Tensor*)>
Result<bool> expand(Rewriter& r, Operation* op) {
  if (!is_float_op(op)) return false;
  Replacement p(r, op);
  return p.replace(kFormula(p, op->input(0)));
}

Tensor* reciprocal(Replacement& p, Tensor* x) { return p.div(p.number(x, 1), x); }
Tensor* tangent(Replacement& p, Tensor* x) {
  return p.op(OpKind::Div, {p.unary(OpKind::Sin, x), p.unary(OpKind::Cos, x)});
}
Tensor* hyperbolic_sine(Replacement& p, Tensor* x) {
  return p.mul(p.op(OpKind::Sub, {exp_of(p, x), exp_of(p, p.unary(OpKind::Neg, x))}), 0.5);
}
Tensor* hyperbolic_cosine(Replacement& p, Tensor* x) {
  return p.mul(p.op(OpKind::Add, {exp_of(p, x), exp_of(p, p.unary(OpKind::Neg, x))}), 0.5);
}
Tensor* inverse_hyperbolic_sine(Replacement& p, Tensor* x) {
  Tensor* size = p.unary(OpKind::Abs, x);
  Tensor* root = p.unary(OpKind::Sqrt, p.add(p.mul(x, x), 1));
  return p.op(OpKind::Mul, {p.unary(OpKind::Sign, x), p.unary(OpKind::Log, p.add(size, root))});
}
Tensor* inverse_hyperbolic_cosine(Replacement& p, Tensor* x) {
  return p.unary(OpKind::Log, p.add(x, p.unary(OpKind::Sqrt, p.sub(p.mul(x, x), 1))));
}
Tensor* inverse_hyperbolic_tangent(Replacement& p, Tensor* x) {
  Tensor* ratio = p.op(OpKind::Div, {p.add(x, 1), p.sub(p.number(x, 1), x)});
  return p.mul(p.unary(OpKind::Log, ratio), 0.5);
}

// Abramowitz and Stegun 7.1.26: within 1.5e-7.
Tensor* error_function(Replacement& p, Tensor* x) {
  Tensor* size = p.unary(OpKind::Abs, x);
  Tensor* t = reciprocal(p, p.add(p.mul(size, 0.3275911), 1));
  Tensor* sum = p.mul(t, 1.061405429);
  for (const double c : {-1.453152027, 1.421413741, -0.284496736, 0.254829592})
    sum = p.mul(p.add(sum, c), t);
  Tensor* tail = p.mul(sum, exp_of(p, p.unary(OpKind::Neg, p.mul(x, x))));
  return p.op(OpKind::Mul, {p.unary(OpKind::Sign, x), p.sub(p.number(x, 1), tail)});
}

// The arc tangent of a positive value, within 2e-8: halved twice by
// t / (1 + sqrt(1 + t^2)), then the first terms of the series.
Tensor* arctangent(Replacement& p, Tensor* x) {
  // |x| > 1: pi / 2 - atan(1 / |x|)
  Tensor* size = p.unary(OpKind::Abs, x);
  Tensor* large = p.op(OpKind::Greater, {size, p.number(x, 1)});
  Tensor* t =
      p.op(OpKind::Where, {large, p.op(OpKind::Div, {p.number(x, 1), p.max(size, 1e-30)}), size});
  for (int i = 0; i < 2; ++i) t = p.div(t, p.add(p.unary(OpKind::Sqrt, p.add(p.mul(t, t), 1)), 1));
  Tensor* square = p.mul(t, t);
  Tensor* sum = p.mul(square, 1.0 / 13);
  for (const double c : {-1.0 / 11, 1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3})
    sum = p.mul(square, p.add(sum, c));
  Tensor* angle = p.mul(p.mul(t, p.add(sum, 1)), 4);
  angle = p.op(OpKind::Where, {large, p.sub(p.number(x, 1.5707963267948966), angle), angle});
  return p.mul(angle, p.unary(OpKind::Sign, x));
}
Tensor* arcsine(Replacement& p, Tensor* x) {
  // 2 atan(x / (1 + sqrt(1 - x^2)))
  Tensor* root = p.unary(OpKind::Sqrt, p.op(OpKind::Sub, {p.number(x, 1), p.mul(x, x)}));
  return p.mul(arctangent(p, p.div(x, p.add(root, 1))), 2);
}
Tensor* arccosine(Replacement& p, Tensor* x) {
  return p.op(OpKind::Sub, {p.number(x, 1.5707963267948966), arcsine(p, x)});
}

Result<bool> expand_is_nan(Rewriter& r, Operation* op) {
  if (!is_plain(op) || !is_float(op->input(0)->dtype())) return false;
  Replacement p(r, op);
  return p.replace(p.unary(OpKind::Not, p.op(OpKind::Equal, {op->input(0), op->input(0)})));
}

Result<bool> expand_is_inf(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<IsInfAttrs>();
  if (!is_plain(op) || !is_float(op->input(0)->dtype())) return false;
  if (!attrs.detect_positive && !attrs.detect_negative) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  if (attrs.detect_positive && attrs.detect_negative) x = p.unary(OpKind::Abs, x);
  const double limit = attrs.detect_positive ? std::numeric_limits<double>::infinity()
                                             : -std::numeric_limits<double>::infinity();
  return p.replace(p.op(OpKind::Equal, {x, p.number(x, limit)}));
}

// x - y trunc(x / y), with the sign of x.
Result<bool> expand_fmod(Rewriter& r, Operation* op) {
  if (!op->attrs_as<ModAttrs>().fmod || !is_float_op(op)) return false;
  Replacement p(r, op);
  Tensor *x = op->input(0), *y = op->input(1);
  Tensor* dividend = p.unary(OpKind::Abs, x);
  Tensor* divisor = p.unary(OpKind::Abs, y);
  Tensor* times = p.unary(OpKind::Floor, p.div(dividend, divisor));
  Tensor* rest = p.sub(dividend, p.mul(divisor, times));
  return p.replace(p.mul(p.unary(OpKind::Sign, x), rest));
}

// Division of integers of 64 bits, which are sizes, goes through i32.
Result<bool> narrow_division(Rewriter& r, Operation* op) {
  const DType dtype = op->output()->dtype();
  if (!is_plain(op) || dtype != DType::I64) return false;
  for (const Tensor* input : op->inputs())
    if (const auto values = int_values(input);
        values &&
        std::ranges::any_of(*values, [](int64_t n) { return n != static_cast<int32_t>(n); }))
      return false;
  Replacement p(r, op);
  Tensor* y = p.op(op->kind(), {p.cast(op->input(0), DType::I32), p.cast(op->input(1), DType::I32)},
                   op->attrs());
  return p.replace(p.cast(y, dtype));
}

// Numbers of 8 and 16 bits that stand for themselves: kernels take those types for quantised ones.
Result<bool> widen(Rewriter& r, Operation* op) {
  const DType dtype = op->input(0)->dtype(), result = op->output()->dtype();
  if (!is_plain(op) || !is_integer(dtype) || bit_width(dtype) > 16) return false;
  Replacement p(r, op);
  Tensor* a = p.cast(op->input(0), DType::I32);
  Tensor* b = p.cast(op->input(1), DType::I32);
  Tensor* y = p.op(op->kind(), {a, b}, op->attrs());
  return p.replace(result == DType::Bool ? y : p.cast(y, result));
}

// x to a constant whole power as products: exact in every type of integers.
Result<bool> expand_whole_pow(Rewriter& r, Operation* op) {
  constexpr double kMostFactors = 63;
  const WithScalar match = with_scalar(op);
  if (!match || match.x != op->input(0) || !is_plain(op) || !is_integer(match.x->dtype()))
    return false;
  if (!(match.value >= 0 && match.value <= kMostFactors) || match.value != std::floor(match.value))
    return false;
  Replacement p(r, op);
  if (match.value == 0) return p.replace(p.add(p.mul(match.x, 0.0), 1));
  Tensor *result = nullptr, *square = match.x;
  for (auto left = static_cast<int>(match.value); left > 0; left >>= 1) {
    if (left & 1) result = result == nullptr ? square : p.mul(result, square);
    if (left > 1) square = p.mul(square, square);
  }
  return p.replace(result);
}

bool fits_i32(const Tensor* tensor) {
  const DType dtype = tensor->dtype();
  if (is_integer(dtype) && (bit_width(dtype) < 32 || dtype == DType::I32)) return true;
  const auto values = int_values(tensor);
  return values && std::all_of(values->begin(), values->end(), [](int64_t value) {
           return value >= INT32_MIN && value <= INT32_MAX;
         });
}

// Base and exponent of one type, which is f32 or i32. The low bits of a power are those of the
// power of the low bits: i32 serves all integers that are no wider. f32 would round them.
Result<bool> unite_pow(Rewriter& r, Operation* op) {
  const DType base = op->input(0)->dtype(), exponent = op->input(1)->dtype();
  const DType wanted = is_float(base) ? DType::F32 : DType::I32;
  if (!is_plain(op) || (base == wanted && exponent == wanted)) return false;
  if (base == DType::F64 || exponent == DType::F64) return false;
  if (wanted == DType::I32 && (bit_width(base) > 32 || !fits_i32(op->input(1)))) return false;
  Replacement p(r, op);
  Tensor* a = p.cast(op->input(0), wanted);
  Tensor* b = p.cast(op->input(1), wanted);
  return p.replace(p.cast(p.op(OpKind::Pow, {a, b}), op->output()->dtype()));
}

// Squares and roots without the power function.
Result<bool> expand_pow(Rewriter& r, Operation* op) {
  const WithScalar match = with_scalar(op);
  if (!match || match.x != op->input(0) || !is_float_op(op)) return false;
  Replacement p(r, op);
  if (match.value == 2) return p.replace(p.mul(match.x, match.x));
  if (match.value == 3) return p.replace(p.mul(p.mul(match.x, match.x), match.x));
  if (match.value == 0.5) return p.replace(p.unary(OpKind::Sqrt, match.x));
  if (match.value == -0.5) return p.replace(p.unary(OpKind::Rsqrt, match.x));
  return false;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Reciprocal, expand<reciprocal>, "functions"},
    {OpKind::Tan, expand<tangent>, "functions"},
    {OpKind::Asin, expand<arcsine>, "functions"},
    {OpKind::Acos, expand<arccosine>, "functions"},
    {OpKind::Atan, expand<arctangent>, "functions"},
    {OpKind::Sinh, expand<hyperbolic_sine>, "functions"},
    {OpKind::Cosh, expand<hyperbolic_cosine>, "functions"},
    {OpKind::Asinh, expand<inverse_hyperbolic_sine>, "functions"},
    {OpKind::Acosh, expand<inverse_hyperbolic_cosine>, "functions"},
    {OpKind::Atanh, expand<inverse_hyperbolic_tangent>, "functions"},
    {OpKind::Erf, expand<error_function>, "functions"},
    {OpKind::IsNan, expand_is_nan, "functions"},
    {OpKind::IsInf, expand_is_inf, "functions"},
    {OpKind::Mod, expand_fmod, "functions"},
    {OpKind::Div, narrow_division, "wide integers"},
    {OpKind::Add, widen, "narrow integers"},
    {OpKind::Sub, widen, "narrow integers"},
    {OpKind::Mul, widen, "narrow integers"},
    {OpKind::Div, widen, "narrow integers"},
    {OpKind::Mod, widen, "narrow integers"},
    {OpKind::Equal, widen, "narrow integers"},
    {OpKind::Less, widen, "narrow integers"},
    {OpKind::LessOrEqual, widen, "narrow integers"},
    {OpKind::Greater, widen, "narrow integers"},
    {OpKind::GreaterOrEqual, widen, "narrow integers"},
    {OpKind::Pow, expand_whole_pow, "functions"},
    {OpKind::Pow, unite_pow, "functions"},
    {OpKind::Pow, expand_pow, "functions"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteArithmetic = kRules;

}  // namespace ec::passes
