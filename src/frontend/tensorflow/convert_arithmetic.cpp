// Arithmetic, comparisons and logic, element by element.
#include "frontend/moved_elements.h"
#include "frontend/tensorflow/complex.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status square(OpContext& ctx) { return ctx.finish(OpKind::Mul, {ctx.in(0), ctx.in(0)}); }

template <OpKind kKind>
Status add_or_sub(OpContext& ctx) {
  if (ctx.is_complex(0) != ctx.is_complex(1))
    return ctx.fail(Code::TypeMismatch, "one operand is complex, the other is not");
  EC_TRY(ec::Tensor * y, ctx.add(kKind, {ctx.in(0), ctx.in(1)}));
  return ctx.set(0, y, ctx.is_complex());
}

Status mul(OpContext& ctx) {
  if (ctx.is_complex(0) || ctx.is_complex(1)) return complex_mul(ctx);
  return ctx.finish(OpKind::Mul, {ctx.in(0), ctx.in(1)});
}

// Integers are divided towards zero by Div and TruncateDiv; RealDiv has floats alone.
Status divide(OpContext& ctx) { return ctx.finish(OpKind::Div, {ctx.in(0), ctx.in(1)}); }

// Where the divisor is 0 the result is 0.
Status div_no_nan(OpContext& ctx) {
  ec::Tensor* zero = ctx.scalar(ctx.dtype(), 0.0);
  EC_TRY(ec::Tensor * by_zero, ctx.add(OpKind::Equal, {ctx.in(1), zero}));
  EC_TRY(ec::Tensor * divisor,
         ctx.add(OpKind::Where, {by_zero, ctx.scalar(ctx.dtype(), 1.0), ctx.in(1)}));
  EC_TRY(ec::Tensor * quotient, ctx.add(OpKind::Div, {ctx.in(0), divisor}));
  return ctx.finish(OpKind::Where, {by_zero, zero, quotient});
}

// Where the second factor is 0 the product is 0, whatever the first one is.
Status mul_no_nan(OpContext& ctx) {
  ec::Tensor* zero = ctx.scalar(ctx.dtype(), 0.0);
  EC_TRY(ec::Tensor * by_zero, ctx.add(OpKind::Equal, {ctx.in(1), zero}));
  EC_TRY(ec::Tensor * product, ctx.add(OpKind::Mul, {ctx.in(0), ctx.in(1)}));
  return ctx.finish(OpKind::Where, {by_zero, zero, product});
}

// x * log(y), x * log(y + 1), x / y; 0 where x is 0.
enum class Guarded { Log, Log1p, Div };
template <Guarded kWhat>
Status zero_guarded(OpContext& ctx) {
  ec::Tensor* zero = ctx.scalar(ctx.dtype(), 0.0);
  EC_TRY(ec::Tensor * is_zero, ctx.add(OpKind::Equal, {ctx.in(0), zero}));
  ec::Tensor* y = ctx.in(1);
  if (kWhat == Guarded::Log1p) {
    EC_TRY(y, ctx.add(OpKind::Add, {y, ctx.scalar(ctx.dtype(), 1.0)}));
  }
  if (kWhat != Guarded::Div) {
    EC_TRY(y, ctx.add(OpKind::Log, {y}));
  }
  EC_TRY(ec::Tensor * result,
         ctx.add(kWhat == Guarded::Div ? OpKind::Div : OpKind::Mul, {ctx.in(0), y}));
  return ctx.finish(OpKind::Where, {is_zero, zero, result});
}

Status floor_mod(OpContext& ctx) {
  return ctx.finish(OpKind::Mod, {ctx.in(0), ctx.in(1)}, ModAttrs{});
}

Status truncated_mod(OpContext& ctx) {
  ModAttrs attrs;
  attrs.fmod = true;
  return ctx.finish(OpKind::Mod, {ctx.in(0), ctx.in(1)}, attrs);
}

Status add_n(OpContext& ctx) {
  ec::Tensor* sum = ctx.in(0);
  for (size_t i = 1; i < ctx.num_inputs(); ++i) {
    EC_TRY(sum, ctx.add(OpKind::Add, {sum, ctx.in(i)}));
  }
  return ctx.set(0, sum);
}

Status not_equal(OpContext& ctx) {
  EC_TRY(ec::Tensor * equal, ctx.add(OpKind::Equal, {ctx.in(0), ctx.in(1)}));
  return ctx.finish(OpKind::Not, {equal});
}

Status approximate_equal(OpContext& ctx) {
  EC_TRY(ec::Tensor * distance, ctx.add(OpKind::Sub, {ctx.in(0), ctx.in(1)}));
  EC_TRY(distance, ctx.add(OpKind::Abs, {distance}));
  const double tolerance = ctx.attr_float("tolerance", 1e-5f);
  return ctx.finish(OpKind::Less, {distance, ctx.scalar(ctx.dtype(), tolerance)});
}

template <bool kLeft>
Status shift(OpContext& ctx) {
  BitShiftAttrs attrs;
  attrs.left = kLeft;
  return ctx.finish(OpKind::BitShift, {ctx.in(0), ctx.in(1)}, attrs);
}

Status log1p(OpContext& ctx) {
  EC_TRY(ec::Tensor * x, ctx.add(OpKind::Add, {ctx.in(0), ctx.scalar(ctx.dtype(), 1.0)}));
  return ctx.finish(OpKind::Log, {x});
}

Status expm1(OpContext& ctx) {
  EC_TRY(ec::Tensor * x, ctx.add(OpKind::Exp, {ctx.in(0)}));
  return ctx.finish(OpKind::Sub, {x, ctx.scalar(ctx.dtype(), 1.0)});
}

// 1 - erf(x). Of -x it is 1 + erf(x), which is how gelu is recognised.
Status erfc(OpContext& ctx) {
  ec::Tensor* one = ctx.scalar(ctx.dtype(), 1.0);
  ec::Tensor* x = ctx.in(0);
  const Operation* scale = x->producer();
  const bool scaled = scale != nullptr &&
                      (scale->kind() == OpKind::Mul || scale->kind() == OpKind::Div) &&
                      scale->input(1)->is_constant();
  const ec::Tensor* inner = scaled ? scale->input(0) : x;
  if (inner->producer() == nullptr || inner->producer()->kind() != OpKind::Neg) {
    EC_TRY(ec::Tensor * erf, ctx.add(OpKind::Erf, {x}));
    return ctx.finish(OpKind::Sub, {one, erf});
  }
  ec::Tensor* positive = inner->producer()->input(0);
  if (scaled) {
    EC_TRY(positive, ctx.add(scale->kind(), {positive, scale->input(1)}));
  }
  EC_TRY(ec::Tensor * erf, ctx.add(OpKind::Erf, {positive}));
  return ctx.finish(OpKind::Add, {one, erf});
}

Status is_finite(OpContext& ctx) {
  EC_TRY(ec::Tensor * nan, ctx.add(OpKind::IsNan, {ctx.in(0)}));
  EC_TRY(ec::Tensor * inf, ctx.add(OpKind::IsInf, {ctx.in(0)}, IsInfAttrs{}));
  EC_TRY(ec::Tensor * either, ctx.add(OpKind::Or, {nan, inf}));
  return ctx.finish(OpKind::Not, {either});
}

Status is_inf(OpContext& ctx) { return ctx.finish(OpKind::IsInf, {ctx.in(0)}, IsInfAttrs{}); }

Status clip_by_value(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Min, {ctx.in(0), ctx.in(2)}));
  return ctx.finish(OpKind::Max, {y, ctx.in(1)});
}

Status cast(OpContext& ctx) {
  const DataType to = ctx.attr_type("DstT");
  const bool complex = to == DataType::Complex64 || to == DataType::Complex128;
  EC_TRY(const DType dtype, ctx.attr_dtype("DstT"));
  ec::Tensor* x = ctx.in(0);
  if (ctx.is_complex() && !complex) {
    EC_TRY(x, complex_part(ctx, x, ComplexPart::Real));
  }
  // Floats are cut towards zero, as here.
  EC_TRY(x, ctx.cast(x, dtype));
  if (complex && !ctx.is_complex()) {
    EC_TRY(ec::Tensor * zero, ctx.add(OpKind::Mul, {x, ctx.scalar(dtype, 0.0)}));
    EC_TRY(x, complex_number(ctx, x, zero));
  }
  return ctx.set(0, x, complex);
}

Status bitcast(OpContext& ctx) {
  BitCastAttrs attrs;
  EC_TRY(attrs.to, ctx.attr_dtype("type"));
  if (element_size(attrs.to) != element_size(ctx.dtype()))
    return ctx.unsupported("a bitcast between sizes of elements is not supported");
  return ctx.finish(OpKind::BitCast, {ctx.in(0)}, attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3};
constexpr Takes kC = Takes::Complex;

constexpr OpRow kRows[] = {
    {"Add", k2, add_or_sub<OpKind::Add>, kC},
    {"AddV2", k2, add_or_sub<OpKind::Add>, kC},
    {"Sub", k2, add_or_sub<OpKind::Sub>, kC},
    {"Mul", k2, mul, kC},
    {"RealDiv", k2, divide},
    {"Div", k2, divide},
    {"TruncateDiv", k2, divide},
    {"DivNoNan", k2, div_no_nan},
    {"MulNoNan", k2, mul_no_nan},
    {"Xlogy", k2, zero_guarded<Guarded::Log>},
    {"Xlog1py", k2, zero_guarded<Guarded::Log1p>},
    {"Xdivy", k2, zero_guarded<Guarded::Div>},
    {"FloorDiv", k2, direct<OpKind::FloorDiv>},
    {"FloorMod", k2, floor_mod},
    {"Mod", k2, truncated_mod},
    {"TruncateMod", k2, truncated_mod},
    {"Pow", k2, direct<OpKind::Pow>},
    {"Maximum", k2, direct<OpKind::Max>},
    {"Minimum", k2, direct<OpKind::Min>},
    {"SquaredDifference", k2, direct<OpKind::SquaredDifference>},
    {"Atan2", k2, direct<OpKind::Atan2>},
    {"AddN", {1, kMany}, add_n},
    {"AccumulateNV2", {1, kMany}, add_n},
    {"LogicalAnd", k2, direct<OpKind::And>},
    {"LogicalOr", k2, direct<OpKind::Or>},
    {"BitwiseAnd", k2, direct<OpKind::BitwiseAnd>},
    {"BitwiseOr", k2, direct<OpKind::BitwiseOr>},
    {"BitwiseXor", k2, direct<OpKind::BitwiseXor>},
    {"LeftShift", k2, shift<true>},
    {"RightShift", k2, shift<false>},
    {"Equal", k2, direct<OpKind::Equal>},
    {"NotEqual", k2, not_equal},
    {"ApproximateEqual", k2, approximate_equal},
    {"Less", k2, direct<OpKind::Less>},
    {"LessEqual", k2, direct<OpKind::LessOrEqual>},
    {"Greater", k2, direct<OpKind::Greater>},
    {"GreaterEqual", k2, direct<OpKind::GreaterOrEqual>},
    {"Select", k3, select},
    {"SelectV2", k3, direct<OpKind::Where>},
    {"Abs", k1, direct<OpKind::Abs>},
    {"Neg", k1, direct<OpKind::Neg>},
    {"Exp", k1, direct<OpKind::Exp>},
    {"Expm1", k1, expm1},
    {"Log", k1, direct<OpKind::Log>},
    {"Log1p", k1, log1p},
    {"Sqrt", k1, direct<OpKind::Sqrt>},
    {"Rsqrt", k1, direct<OpKind::Rsqrt>},
    {"Square", k1, square},
    {"Reciprocal", k1, direct<OpKind::Reciprocal>},
    {"Inv", k1, direct<OpKind::Reciprocal>},
    {"Floor", k1, direct<OpKind::Floor>},
    {"Ceil", k1, direct<OpKind::Ceil>},
    {"Round", k1, direct<OpKind::Round>},
    {"Rint", k1, direct<OpKind::Round>},
    {"Sign", k1, direct<OpKind::Sign>},
    {"Sin", k1, direct<OpKind::Sin>},
    {"Cos", k1, direct<OpKind::Cos>},
    {"Tan", k1, direct<OpKind::Tan>},
    {"Asin", k1, direct<OpKind::Asin>},
    {"Acos", k1, direct<OpKind::Acos>},
    {"Atan", k1, direct<OpKind::Atan>},
    {"Sinh", k1, direct<OpKind::Sinh>},
    {"Cosh", k1, direct<OpKind::Cosh>},
    {"Asinh", k1, direct<OpKind::Asinh>},
    {"Acosh", k1, direct<OpKind::Acosh>},
    {"Atanh", k1, direct<OpKind::Atanh>},
    {"Erf", k1, direct<OpKind::Erf>},
    {"Erfc", k1, erfc},
    {"LogicalNot", k1, direct<OpKind::Not>},
    {"Invert", k1, direct<OpKind::BitwiseNot>},
    {"IsNan", k1, direct<OpKind::IsNan>},
    {"IsInf", k1, is_inf},
    {"IsFinite", k1, is_finite},
    {"ClipByValue", k3, clip_by_value},
    {"Cast", k1, cast, kC},
    {"Bitcast", k1, bitcast},
};

}  // namespace

const std::span<const OpRow> kArithmeticRows = kRows;

}  // namespace ec::tf
