// Element-wise arithmetic, comparison and logic.
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorRef plain(ec::Tensor* tensor) { return {tensor, false, {}, {}}; }

std::string_view first_name(const Call& c) { return c.schema().args[0].name; }
std::string_view second_name(const Call& c) { return c.schema().args[1].name; }

// Two operands of the promoted type; integers as floats when asked.
struct Pair {
  ec::Tensor* a;
  ec::Tensor* b;
};
Result<Pair> operands(Call& c, bool as_float = false) {
  const TensorRef a = c.ref(first_name(c)), b = c.ref(second_name(c));
  DType dtype = result_type(std::vector{a, b});
  if (as_float) dtype = to_float_type(dtype);
  EC_TRY(ec::Tensor * x, c.cast(a.tensor, dtype));
  EC_TRY(ec::Tensor * y, c.cast(b.tensor, dtype));
  return Pair{x, y};
}

template <OpKind kKind>
Result<ec::Tensor*> binary(Call& c) {
  EC_TRY(const Pair p, operands(c));
  return c.add(kKind, {p.a, p.b});
}

template <OpKind kKind>
Result<ec::Tensor*> binary_float(Call& c) {
  EC_TRY(const Pair p, operands(c, true));
  return c.add(kKind, {p.a, p.b});
}

// `other` times alpha, of the promoted type.
Result<Pair> with_alpha(Call& c) {
  EC_TRY(Pair p, operands(c));
  const double alpha = c.number("alpha", 1);
  if (alpha != 1) {
    EC_TRY(p.b, c.add(OpKind::Mul, {p.b, c.scalar(p.b->dtype(), alpha)}));
  }
  return p;
}

// On booleans + is or, * is and.
Result<ec::Tensor*> add(Call& c) {
  EC_TRY(const Pair p, with_alpha(c));
  return c.add(p.a->dtype() == DType::Bool ? OpKind::Or : OpKind::Add, {p.a, p.b});
}

Result<ec::Tensor*> mul(Call& c) {
  EC_TRY(const Pair p, operands(c));
  return c.add(p.a->dtype() == DType::Bool ? OpKind::And : OpKind::Mul, {p.a, p.b});
}

Result<ec::Tensor*> sub(Call& c) {
  EC_TRY(const Pair p, with_alpha(c));
  return c.add(OpKind::Sub, {p.a, p.b});
}

Result<ec::Tensor*> rsub(Call& c) {
  EC_TRY(Pair p, operands(c));
  const double alpha = c.number("alpha", 1);
  if (alpha != 1) {
    EC_TRY(p.a, c.add(OpKind::Mul, {p.a, c.scalar(p.a->dtype(), alpha)}));
  }
  return c.add(OpKind::Sub, {p.b, p.a});
}

Result<ec::Tensor*> truncated(Call& c, ec::Tensor* x) {
  if (!is_float(x->dtype())) return x;
  EC_TRY(ec::Tensor * sign, c.add(OpKind::Sign, {x}));
  EC_TRY(ec::Tensor * size, c.add(OpKind::Abs, {x}));
  EC_TRY(size, c.add(OpKind::Floor, {size}));
  return c.add(OpKind::Mul, {sign, size});
}

Result<ec::Tensor*> div(Call& c) {
  const std::string mode = c.has("rounding_mode") ? c.text("rounding_mode") : "";
  if (mode.empty()) return binary_float<OpKind::Div>(c);
  EC_TRY(const Pair p, operands(c));
  if (mode == "floor") return c.add(OpKind::FloorDiv, {p.a, p.b});
  EC_TRY(ec::Tensor * y, c.add(OpKind::Div, {p.a, p.b}));  // integers round towards zero
  return truncated(c, y);
}

Result<ec::Tensor*> remainder(Call& c) {
  EC_TRY(const Pair p, operands(c));
  return c.add(OpKind::Mod, {p.a, p.b}, ModAttrs{});
}

Result<ec::Tensor*> fmod(Call& c) {
  EC_TRY(const Pair p, operands(c));
  ModAttrs attrs;
  attrs.fmod = true;
  return c.add(OpKind::Mod, {p.a, p.b}, attrs);
}

Result<ec::Tensor*> pow(Call& c) {
  EC_TRY(const Pair p, operands(c));
  const auto exponent = known_number(c.arg(second_name(c)));
  if (exponent == 2) return c.add(OpKind::Mul, {p.a, p.a});
  if (exponent == 0.5 && is_float(p.a->dtype())) return c.add(OpKind::Sqrt, {p.a});
  if (exponent == 1) return p.a;
  return c.add(OpKind::Pow, {p.a, p.b});
}

Result<ec::Tensor*> hypot(Call& c) {
  EC_TRY(const Pair p, operands(c, true));
  EC_TRY(ec::Tensor * a, c.add(OpKind::Mul, {p.a, p.a}));
  EC_TRY(ec::Tensor * b, c.add(OpKind::Mul, {p.b, p.b}));
  EC_TRY(ec::Tensor * sum, c.add(OpKind::Add, {a, b}));
  return c.add(OpKind::Sqrt, {sum});
}

Result<ec::Tensor*> copysign(Call& c) {
  EC_TRY(const Pair p, operands(c, true));
  EC_TRY(ec::Tensor * size, c.add(OpKind::Abs, {p.a}));
  EC_TRY(ec::Tensor * negative, c.add(OpKind::Less, {p.b, c.scalar(p.b->dtype(), 0)}));
  EC_TRY(ec::Tensor * opposite, c.add(OpKind::Neg, {size}));
  return c.add(OpKind::Where, {negative, opposite, size});
}

// x log(y), 0 where x is 0
Result<ec::Tensor*> xlogy(Call& c) {
  EC_TRY(const Pair p, operands(c, true));
  EC_TRY(ec::Tensor * log, c.add(OpKind::Log, {p.b}));
  EC_TRY(ec::Tensor * product, c.add(OpKind::Mul, {p.a, log}));
  EC_TRY(ec::Tensor * zero, c.add(OpKind::Equal, {p.a, c.scalar(p.a->dtype(), 0)}));
  return c.add(OpKind::Where, {zero, c.scalar(p.a->dtype(), 0), product});
}

Result<ec::Tensor*> not_equal(Call& c) {
  EC_TRY(ec::Tensor * equal, binary<OpKind::Equal>(c));
  return c.add(OpKind::Not, {equal});
}

// Comparisons of order do not know booleans.
template <OpKind kKind>
Result<ec::Tensor*> compare(Call& c) {
  EC_TRY(Pair p, operands(c));
  if (p.a->dtype() == DType::Bool) {
    EC_TRY(p.a, c.cast(p.a, DType::U8));
    EC_TRY(p.b, c.cast(p.b, DType::U8));
  }
  return c.add(kKind, {p.a, p.b});
}

Result<ec::Tensor*> truth(Call& c, std::string_view name) {
  return c.cast(c.tensor(name), DType::Bool);
}

template <OpKind kKind>
Result<ec::Tensor*> logical(Call& c) {
  EC_TRY(ec::Tensor * a, truth(c, first_name(c)));
  EC_TRY(ec::Tensor * b, truth(c, second_name(c)));
  return c.add(kKind, {a, b});
}

Result<ec::Tensor*> logical_not(Call& c) {
  EC_TRY(ec::Tensor * x, truth(c, "self"));
  return c.add(OpKind::Not, {x});
}

template <OpKind kLogical, OpKind kBits>
Result<ec::Tensor*> bitwise(Call& c) {
  EC_TRY(const Pair p, operands(c));
  return c.add(p.a->dtype() == DType::Bool ? kLogical : kBits, {p.a, p.b});
}

Result<ec::Tensor*> bitwise_not(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.add(x->dtype() == DType::Bool ? OpKind::Not : OpKind::BitwiseNot, {x});
}

template <bool kLeft>
Result<ec::Tensor*> shift(Call& c) {
  EC_TRY(const Pair p, operands(c));
  if (is_unsigned_integer(p.a->dtype())) {
    BitShiftAttrs attrs;
    attrs.left = kLeft;
    return c.add(OpKind::BitShift, {p.a, p.b}, attrs);
  }
  // Signed shifts are products with, and floored quotients by, powers of two.
  EC_TRY(ec::Tensor * power, c.add(OpKind::Pow, {c.scalar(p.a->dtype(), 2), p.b}));
  return c.add(kLeft ? OpKind::Mul : OpKind::FloorDiv, {p.a, power});
}

Result<ec::Tensor*> rounded(Call& c, OpKind kind) {
  ec::Tensor* x = c.tensor("self");
  return is_float(x->dtype()) ? c.add(kind, {x}) : Result<ec::Tensor*>(x);
}
Result<ec::Tensor*> floor(Call& c) { return rounded(c, OpKind::Floor); }
Result<ec::Tensor*> ceil(Call& c) { return rounded(c, OpKind::Ceil); }
Result<ec::Tensor*> round(Call& c) { return rounded(c, OpKind::Round); }
Result<ec::Tensor*> trunc(Call& c) { return truncated(c, c.tensor("self")); }

Result<ec::Tensor*> round_decimals(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  ec::Tensor* factor =
      c.scalar(x->dtype(), std::pow(10.0, static_cast<double>(c.integer("decimals"))));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Mul, {x, factor}));
  EC_TRY(y, c.add(OpKind::Round, {y}));
  return c.add(OpKind::Div, {y, factor});
}

Result<ec::Tensor*> frac(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * whole, truncated(c, x));
  return c.add(OpKind::Sub, {x, whole});
}

Result<ec::Tensor*> square(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.add(OpKind::Mul, {x, x});
}

Result<ec::Tensor*> expm1(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Exp, {x}));
  return c.add(OpKind::Sub, {y, c.scalar(y->dtype(), 1)});
}

Result<ec::Tensor*> exp2(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  return c.add(OpKind::Pow, {c.scalar(x->dtype(), 2), x});
}

Result<ec::Tensor*> log1p(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Add, {x, c.scalar(x->dtype(), 1)}));
  return c.add(OpKind::Log, {y});
}

Result<ec::Tensor*> log_base(Call& c, double base) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Log, {x}));
  return c.add(OpKind::Mul, {y, c.scalar(y->dtype(), 1 / std::log(base))});
}
Result<ec::Tensor*> log2(Call& c) { return log_base(c, 2); }
Result<ec::Tensor*> log10(Call& c) { return log_base(c, 10); }

Result<ec::Tensor*> erfc(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Erf, {x}));
  return c.add(OpKind::Sub, {c.scalar(y->dtype(), 1), y});
}

// sin(pi x) / (pi x), 1 at 0
Result<ec::Tensor*> sinc(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(ec::Tensor * angle, c.add(OpKind::Mul, {x, c.scalar(x->dtype(), std::numbers::pi)}));
  EC_TRY(ec::Tensor * sine, c.add(OpKind::Sin, {angle}));
  EC_TRY(ec::Tensor * ratio, c.add(OpKind::Div, {sine, angle}));
  EC_TRY(ec::Tensor * zero, c.add(OpKind::Equal, {x, c.scalar(x->dtype(), 0)}));
  return c.add(OpKind::Where, {zero, c.scalar(x->dtype(), 1), ratio});
}

template <bool kToDegrees>
Result<ec::Tensor*> degrees(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  const double factor = kToDegrees ? 180 / std::numbers::pi : std::numbers::pi / 180;
  return c.add(OpKind::Mul, {x, c.scalar(x->dtype(), factor)});
}

// Integers are finite numbers.
Result<ec::Tensor*> isnan(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  return c.add(OpKind::IsNan, {x});
}

Result<ec::Tensor*> isinf(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  return c.add(OpKind::IsInf, {x}, IsInfAttrs{});
}

Result<ec::Tensor*> isfinite(Call& c) {
  EC_TRY(ec::Tensor * nan, isnan(c));
  EC_TRY(ec::Tensor * inf, isinf(c));
  EC_TRY(ec::Tensor * either, c.add(OpKind::Or, {nan, inf}));
  return c.add(OpKind::Not, {either});
}

Result<ec::Tensor*> nan_to_num(Call& c) {
  ec::Tensor* x = c.tensor("self");
  if (!is_float(x->dtype())) return x;
  const double largest = x->dtype() == DType::F64 ? std::numeric_limits<double>::max()
                         : x->dtype() == DType::F16
                             ? 65504.0
                             : static_cast<double>(std::numeric_limits<float>::max());
  EC_TRY(ec::Tensor * nan, c.add(OpKind::IsNan, {x}));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Where, {nan, c.scalar(x->dtype(), c.number("nan", 0)), x}));
  for (const bool positive : {true, false}) {
    EC_TRY(ec::Tensor * infinite,
           c.add(OpKind::Equal, {x, c.scalar(x->dtype(), positive ? kInfinity : -kInfinity)}));
    const double value = positive ? c.number("posinf", largest) : c.number("neginf", -largest);
    EC_TRY(y, c.add(OpKind::Where, {infinite, c.scalar(x->dtype(), value), y}));
  }
  return y;
}

// Bounds that are single known numbers clip; others take part element by element.
Result<ec::Tensor*> clamp_to(Call& c, bool with_min, bool with_max) {
  std::vector<TensorRef> all = {c.ref("self")};
  const bool has_min = with_min && c.has("min"), has_max = with_max && c.has("max");
  if (has_min) all.push_back(c.ref("min"));
  if (has_max) all.push_back(c.ref("max"));
  const DType dtype = result_type(all);
  EC_TRY(ec::Tensor * x, c.cast(all[0].tensor, dtype));
  const auto known = [&](std::string_view name) { return known_number(c.arg(name)); };
  if ((!has_min || known("min")) && (!has_max || known("max"))) {
    ec::Tensor* low = has_min ? c.scalar(dtype, *known("min")) : nullptr;
    ec::Tensor* high = has_max ? c.scalar(dtype, *known("max")) : nullptr;
    return c.add(OpKind::Clip, {x, low, high});
  }
  if (has_min) {
    EC_TRY(ec::Tensor * low, c.cast(c.tensor("min"), dtype));
    EC_TRY(x, c.add(OpKind::Max, {x, low}));
  }
  if (has_max) {
    EC_TRY(ec::Tensor * high, c.cast(c.tensor("max"), dtype));
    EC_TRY(x, c.add(OpKind::Min, {x, high}));
  }
  return x;
}
Result<ec::Tensor*> clamp(Call& c) { return clamp_to(c, true, true); }
Result<ec::Tensor*> clamp_min(Call& c) { return clamp_to(c, true, false); }
Result<ec::Tensor*> clamp_max(Call& c) { return clamp_to(c, false, true); }

Result<ec::Tensor*> where(Call& c) {
  EC_TRY(ec::Tensor * condition, truth(c, "condition"));
  const TensorRef a = c.ref("self"), b = c.ref("other");
  const DType dtype = result_type(std::vector{a, b});
  EC_TRY(ec::Tensor * x, c.cast(a.tensor, dtype));
  EC_TRY(ec::Tensor * y, c.cast(b.tensor, dtype));
  return c.add(OpKind::Where, {condition, x, y});
}

Result<ec::Tensor*> masked_fill(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * mask, truth(c, "mask"));
  EC_TRY(ec::Tensor * value, c.cast(c.tensor("value"), x->dtype()));
  return c.add(OpKind::Where, {mask, value, x});
}

// self + weight (end - self)
Result<ec::Tensor*> lerp(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * d, c.add(OpKind::Sub, {c.tensor("end"), x}));
  EC_TRY(ec::Tensor * weight, c.cast(c.tensor("weight"), x->dtype()));
  EC_TRY(d, c.add(OpKind::Mul, {weight, d}));
  return c.add(OpKind::Add, {x, d});
}

// self + value (tensor1 * tensor2), or divided
template <OpKind kKind>
Result<ec::Tensor*> add_combined(Call& c) {
  EC_TRY(ec::Tensor * y, c.binary(kKind, c.ref("tensor1"), c.ref("tensor2")));
  const double value = c.number("value");
  if (value != 1) {
    EC_TRY(y, c.add(OpKind::Mul, {y, c.scalar(y->dtype(), value)}));
  }
  return c.binary(OpKind::Add, c.ref("self"), plain(y));
}

Result<ec::Tensor*> sign(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return x->dtype() == DType::Bool ? Result<ec::Tensor*>(x) : c.add(OpKind::Sign, {x});
}

#define EC_UNARY(name) "aten::" name "(Tensor self) -> Tensor"
// Forms with a tensor and with a number on the right.
#define EC_BINARY(name, convert)                                             \
  {"aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor", convert}, { \
    "aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor", convert    \
  }
#define EC_BINARY_ALPHA(name, convert)                                                          \
  {"aten::" name ".Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", convert}, { \
    "aten::" name ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", convert       \
  }
#define EC_BINARY_TENSORS(name, convert) \
  { "aten::" name "(Tensor self, Tensor other) -> Tensor", convert }

constexpr OperatorRow kRows[] = {
    EC_BINARY_ALPHA("add", add),
    EC_BINARY_ALPHA("sub", sub),
    EC_BINARY_ALPHA("subtract", sub),
    EC_BINARY_ALPHA("rsub", rsub),
    EC_BINARY("mul", mul),
    EC_BINARY("multiply", mul),
    EC_BINARY("div", div),
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", div},
    {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", div},
    EC_BINARY("divide", div),
    {"aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", div},
    EC_BINARY("true_divide", div),
    {"aten::floor_divide(Tensor self, Tensor other) -> Tensor", binary<OpKind::FloorDiv>},
    {"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", binary<OpKind::FloorDiv>},
    EC_BINARY("remainder", remainder),
    {"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", remainder},
    EC_BINARY("fmod", fmod),
    {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", pow},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", pow},
    {"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", pow},
    EC_BINARY_TENSORS("maximum", binary<OpKind::Max>),
    EC_BINARY_TENSORS("minimum", binary<OpKind::Min>),
    EC_BINARY_TENSORS("fmax", binary<OpKind::Max>),
    EC_BINARY_TENSORS("fmin", binary<OpKind::Min>),
    EC_BINARY_TENSORS("atan2", binary_float<OpKind::Atan2>),
    EC_BINARY_TENSORS("arctan2", binary_float<OpKind::Atan2>),
    EC_BINARY_TENSORS("hypot", hypot),
    EC_BINARY("copysign", copysign),
    {"aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", xlogy},
    {"aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", xlogy},
    {"aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", xlogy},
    EC_BINARY("eq", binary<OpKind::Equal>),
    EC_BINARY("ne", not_equal),
    EC_BINARY("lt", compare<OpKind::Less>),
    EC_BINARY("le", compare<OpKind::LessOrEqual>),
    EC_BINARY("gt", compare<OpKind::Greater>),
    EC_BINARY("ge", compare<OpKind::GreaterOrEqual>),
    EC_BINARY_TENSORS("logical_and", logical<OpKind::And>),
    EC_BINARY_TENSORS("logical_or", logical<OpKind::Or>),
    EC_BINARY_TENSORS("logical_xor", logical<OpKind::Xor>),
    {EC_UNARY("logical_not"), logical_not},
    EC_BINARY("bitwise_and", (bitwise<OpKind::And, OpKind::BitwiseAnd>)),
    EC_BINARY("bitwise_or", (bitwise<OpKind::Or, OpKind::BitwiseOr>)),
    EC_BINARY("bitwise_xor", (bitwise<OpKind::Xor, OpKind::BitwiseXor>)),
    EC_BINARY("__and__", (bitwise<OpKind::And, OpKind::BitwiseAnd>)),
    EC_BINARY("__or__", (bitwise<OpKind::Or, OpKind::BitwiseOr>)),
    EC_BINARY("__xor__", (bitwise<OpKind::Xor, OpKind::BitwiseXor>)),
    EC_BINARY("__lshift__", shift<true>),
    EC_BINARY("__rshift__", shift<false>),
    {"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", shift<true>},
    {"aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", shift<true>},
    {"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", shift<false>},
    {"aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", shift<false>},
    {EC_UNARY("bitwise_not"), bitwise_not},
    {EC_UNARY("abs"), direct<OpKind::Abs>},
    {"prim::abs(Tensor x) -> Tensor", direct<OpKind::Abs>},
    {EC_UNARY("neg"), direct<OpKind::Neg>},
    {EC_UNARY("negative"), direct<OpKind::Neg>},
    {EC_UNARY("positive"), identity},
    {EC_UNARY("exp"), direct_float<OpKind::Exp>},
    {EC_UNARY("exp2"), exp2},
    {EC_UNARY("expm1"), expm1},
    {EC_UNARY("log"), direct_float<OpKind::Log>},
    {EC_UNARY("log1p"), log1p},
    {EC_UNARY("log2"), log2},
    {EC_UNARY("log10"), log10},
    {EC_UNARY("sqrt"), direct_float<OpKind::Sqrt>},
    {EC_UNARY("rsqrt"), direct_float<OpKind::Rsqrt>},
    {EC_UNARY("reciprocal"), direct_float<OpKind::Reciprocal>},
    {EC_UNARY("square"), square},
    {EC_UNARY("floor"), floor},
    {EC_UNARY("ceil"), ceil},
    {EC_UNARY("round"), round},
    {"aten::round.decimals(Tensor self, *, int decimals) -> Tensor", round_decimals},
    {EC_UNARY("trunc"), trunc},
    {EC_UNARY("fix"), trunc},
    {EC_UNARY("frac"), frac},
    {EC_UNARY("sign"), sign},
    {EC_UNARY("sgn"), sign},
    {EC_UNARY("sin"), direct_float<OpKind::Sin>},
    {EC_UNARY("cos"), direct_float<OpKind::Cos>},
    {EC_UNARY("tan"), direct_float<OpKind::Tan>},
    {EC_UNARY("asin"), direct_float<OpKind::Asin>},
    {EC_UNARY("acos"), direct_float<OpKind::Acos>},
    {EC_UNARY("atan"), direct_float<OpKind::Atan>},
    {EC_UNARY("arctan"), direct_float<OpKind::Atan>},
    {EC_UNARY("sinh"), direct_float<OpKind::Sinh>},
    {EC_UNARY("cosh"), direct_float<OpKind::Cosh>},
    {EC_UNARY("asinh"), direct_float<OpKind::Asinh>},
    {EC_UNARY("acosh"), direct_float<OpKind::Acosh>},
    {EC_UNARY("atanh"), direct_float<OpKind::Atanh>},
    {EC_UNARY("erf"), direct_float<OpKind::Erf>},
    {EC_UNARY("special_erf"), direct_float<OpKind::Erf>},
    {EC_UNARY("erfc"), erfc},
    {EC_UNARY("sinc"), sinc},
    {EC_UNARY("deg2rad"), degrees<false>},
    {EC_UNARY("rad2deg"), degrees<true>},
    {EC_UNARY("isnan"), isnan},
    {EC_UNARY("isinf"), isinf},
    {EC_UNARY("isfinite"), isfinite},
    {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> "
     "Tensor",
     nan_to_num},
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp},
    {"aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp},
    {"aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp},
    {"aten::clamp_min(Tensor self, Scalar min) -> Tensor", clamp_min},
    {"aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", clamp_min},
    {"aten::clamp_max(Tensor self, Scalar max) -> Tensor", clamp_max},
    {"aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", clamp_max},
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where},
    {"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where},
    {"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where},
    {"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where},
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", masked_fill},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", masked_fill},
    {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", lerp},
    {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", lerp},
    {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     add_combined<OpKind::Mul>},
    {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     add_combined<OpKind::Div>},
};

}  // namespace

const std::span<const OperatorRow> kElementwiseRows = kRows;

}  // namespace ec::torch
