// Arithmetic on two operands, and rounding.
#include <cmath>

#include "frontend/torch/aten/pair.h"
#include "frontend/torch/aten/promotion.h"

namespace ec::torch {

Result<Pair> operands(Call& c, bool as_float) {
  const TensorRef a = c.ref(first_name(c)), b = c.ref(second_name(c));
  DType dtype = result_type(std::vector{a, b});
  if (as_float) dtype = to_float_type(dtype);
  EC_TRY(ec::Tensor * x, c.cast(a.tensor, dtype));
  EC_TRY(ec::Tensor * y, c.cast(b.tensor, dtype));
  return Pair{x, y};
}

namespace {

TensorRef plain(ec::Tensor* tensor) { return {tensor, false, {}, {}}; }

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

#define EC_BINARY_ALPHA(name, convert)                                                          \
  {"aten::" name ".Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", convert}, { \
    "aten::" name ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", convert       \
  }

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
    {EC_UNARY("floor"), floor},
    {EC_UNARY("ceil"), ceil},
    {EC_UNARY("round"), round},
    {"aten::round.decimals(Tensor self, *, int decimals) -> Tensor", round_decimals},
    {EC_UNARY("trunc"), trunc},
    {EC_UNARY("fix"), trunc},
    {EC_UNARY("frac"), frac},
    {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", lerp},
    {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", lerp},
    {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     add_combined<OpKind::Mul>},
    {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     add_combined<OpKind::Div>},
};

}  // namespace

const std::span<const OperatorRow> kArithmeticRows = kRows;

}  // namespace ec::torch
