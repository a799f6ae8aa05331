// Functions of one operand, and limits.
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/torch/aten/pair.h"
#include "frontend/torch/aten/promotion.h"

namespace ec::torch {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

// Bounds that are single known numbers clip; others are applied element by element.
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

Result<ec::Tensor*> sign(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return x->dtype() == DType::Bool ? Result<ec::Tensor*>(x) : c.add(OpKind::Sign, {x});
}

constexpr OperatorRow kRows[] = {
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
};

}  // namespace

const std::span<const OperatorRow> kFunctionRows = kRows;

}  // namespace ec::torch
