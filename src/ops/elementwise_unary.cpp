// Element-wise functions of one operand. Semantics are those of the ONNX operators of the same
// name; integers wrap, NaN stays NaN.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/elementwise.h"
#include "ops/quantized/kernels.h"
#include "ops/shape_values.h"
#include "support/rounding.h"

namespace ec::ops {

namespace {

// --- functions of floats ------------------------------------------------------------------------
#define EC_FLOAT_FN(Name, expression) \
  struct Name##Fn {                   \
    template <class C>                \
    C operator()(C x) const {         \
      return expression;              \
    }                                 \
  };
EC_FLOAT_FN(Exp, std::exp(x))
EC_FLOAT_FN(Log, std::log(x))
EC_FLOAT_FN(Sqrt, std::sqrt(x))
EC_FLOAT_FN(Rsqrt, C{1} / std::sqrt(x))
EC_FLOAT_FN(Reciprocal, C{1} / x)
EC_FLOAT_FN(Floor, std::floor(x))
EC_FLOAT_FN(Ceil, std::ceil(x))
EC_FLOAT_FN(Round, round_half_even(x))
EC_FLOAT_FN(Sin, std::sin(x))
EC_FLOAT_FN(Cos, std::cos(x))
EC_FLOAT_FN(Tan, std::tan(x))
EC_FLOAT_FN(Asin, std::asin(x))
EC_FLOAT_FN(Acos, std::acos(x))
EC_FLOAT_FN(Atan, std::atan(x))
EC_FLOAT_FN(Sinh, std::sinh(x))
EC_FLOAT_FN(Cosh, std::cosh(x))
EC_FLOAT_FN(Tanh, std::tanh(x))
EC_FLOAT_FN(Asinh, std::asinh(x))
EC_FLOAT_FN(Acosh, std::acosh(x))
EC_FLOAT_FN(Atanh, std::atanh(x))
EC_FLOAT_FN(Erf, std::erf(x))
#undef EC_FLOAT_FN

// --- functions of any number --------------------------------------------------------------------
struct AbsFn {
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>)
      return std::fabs(x);
    else
      return x < 0 ? wrapping_neg(x) : x;
  }
  uint64_t operator()(uint64_t x) const { return x; }
};
struct NegFn {
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>)
      return -x;
    else
      return wrapping_neg(x);
  }
};
struct SignFn {
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>)
      return x > 0 ? C{1} : x < 0 ? C{-1} : x;  // zeros and NaN as they are
    else if constexpr (std::is_signed_v<C>)
      return static_cast<C>(x > 0 ? 1 : x < 0 ? -1 : 0);
    else
      return x != 0;
  }
};
struct BitwiseNotFn {
  template <class C>
  C operator()(C x) const {
    return static_cast<C>(~x);
  }
};

Status copy(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  if (const size_t bytes = x.bytes(); bytes > 0) std::memcpy(ctx.output(0).data, x.data, bytes);
  return {};
}

Status bitwise_not(KernelContext& ctx) {
  if (ctx.input(0).dtype == DType::U64)
    map_as<uint64_t>(ctx.input(0), ctx.output(0), BitwiseNotFn{});
  else
    map_as<int64_t>(ctx.input(0), ctx.output(0), BitwiseNotFn{});
  return {};
}

Status logical_not(KernelContext& ctx) {
  const auto x = ctx.input(0).as<uint8_t>();
  const auto y = ctx.output(0).as<uint8_t>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] == 0 ? 1 : 0;
  return {};
}

// Boolean result from a predicate on floats.
template <class F>
void test_floats(KernelContext& ctx, F&& predicate) {
  const auto y = ctx.output(0).as<uint8_t>();
  with_float_type(ctx.input(0).dtype, [&](auto c) {
    const Reader<decltype(c)> x(ctx.input(0));
    for (size_t i = 0; i < y.size(); ++i) y[i] = predicate(x[i]) ? 1 : 0;
  });
}

Status is_nan(KernelContext& ctx) {
  test_floats(ctx, [](auto v) { return std::isnan(v); });
  return {};
}

Status is_inf(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<IsInfAttrs>();
  test_floats(ctx, [&](auto v) {
    return std::isinf(v) && (v > 0 ? attrs.detect_positive : attrs.detect_negative);
  });
  return {};
}

// --- inference ----------------------------------------------------------------------------------
Status infer_identity(InferContext& ctx) {
  EC_CHECK_OK(infer_same_as_first(ctx));
  propagate_unary(ctx, [](const ShapeElement& e) { return e.dim(); });
  return {};
}

Status infer_abs(InferContext& ctx) {
  EC_CHECK_OK(infer_unary<kNumbers>(ctx));
  propagate_unary(ctx, [](const ShapeElement& e) {
    return e.is_negative() ? dim_or_unknown(wrapping_neg(*e.constant())) : e.dim();
  });
  return {};
}

Status infer_neg(InferContext& ctx) {
  EC_CHECK_OK(infer_unary<kNumbers>(ctx));
  propagate_unary(ctx, [](const ShapeElement& e) {
    return e.constant() ? dim_or_unknown(wrapping_neg(*e.constant())) : Dim::unknown();
  });
  return {};
}

Status infer_not(InferContext& ctx) {
  EC_CHECK_OK(infer_unary<kBooleans>(ctx));
  propagate_unary(ctx, [](const ShapeElement& e) {
    return e.constant() ? Dim(*e.constant() == 0 ? 1 : 0) : Dim::unknown();
  });
  return {};
}

Status infer_float_test(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  ctx.set(0, DType::Bool, ctx.shape(0));
  return {};
}

}  // namespace

EC_OP_DEF(Identity, .signature = "(x) -> y", .summary = "The operand itself.",
          .traits = {.elementwise = true, .view = true}, .infer = infer_identity, .reference = copy,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::Agnostic);
EC_OP_DEF(Abs, .signature = "(x) -> y", .summary = "Absolute value; the lowest integer wraps.",
          .traits = {.elementwise = true}, .infer = infer_abs, .reference = map_numeric<AbsFn>,
          .quantized = quantized::abs, .quant = QuantRule::Free, .layout = LayoutRule::Agnostic);
EC_OP_DEF(Neg, .signature = "(x) -> y", .summary = "Negation; integers wrap.",
          .traits = {.elementwise = true}, .infer = infer_neg, .reference = map_numeric<NegFn>,
          .quant = QuantRule::Free, .layout = LayoutRule::Agnostic);
EC_OP_DEF(Sign, .signature = "(x) -> y", .summary = "-1, 0 or 1 by the sign; NaN stays NaN.",
          .traits = {.elementwise = true}, .infer = infer_unary<kNumbers>,
          .reference = map_numeric<SignFn>, .quant = QuantRule::Free,
          .layout = LayoutRule::Agnostic);
EC_OP_DEF(Not, .signature = "(x) -> y", .summary = "Logical negation of booleans.",
          .traits = {.elementwise = true}, .infer = infer_not, .reference = logical_not,
          .layout = LayoutRule::Agnostic);
EC_OP_DEF(BitwiseNot, .signature = "(x) -> y", .summary = "All bits of an integer inverted.",
          .traits = {.elementwise = true}, .infer = infer_unary<kIntegers>,
          .reference = bitwise_not, .layout = LayoutRule::Agnostic);
EC_OP_DEF(IsNan, .signature = "(x) -> y", .summary = "True where an element is NaN.",
          .traits = {.elementwise = true}, .infer = infer_float_test, .reference = is_nan,
          .layout = LayoutRule::Agnostic);
EC_OP_DEF(IsInf, .signature = "(x) -> y",
          .summary = "True where an element is infinite, of the signs asked for.",
          .traits = {.elementwise = true}, .infer = infer_float_test, .reference = is_inf,
          .layout = LayoutRule::Agnostic);

// A function of floats whose quantised form is a table of all inputs.
#define EC_FLOAT_OP(Name, integer_kernel, text)                                              \
  EC_OP_DEF(Name, .signature = "(x) -> y", .summary = text, .traits = {.elementwise = true}, \
            .infer = infer_unary<kFloats>, .reference = map_float<Name##Fn>,                 \
            .quantized = integer_kernel, .quant = QuantRule::Free, .layout = LayoutRule::Agnostic)
EC_FLOAT_OP(Exp, quantized::exp, "e to the power of x.");
EC_FLOAT_OP(Log, quantized::log, "Natural logarithm.");
EC_FLOAT_OP(Sqrt, quantized::sqrt, "Square root; NaN below zero.");
EC_FLOAT_OP(Rsqrt, quantized::rsqrt, "1 / sqrt(x).");
EC_FLOAT_OP(Reciprocal, nullptr, "1 / x.");
EC_FLOAT_OP(Floor, nullptr, "Largest integer not above x.");
EC_FLOAT_OP(Ceil, nullptr, "Smallest integer not below x.");
EC_FLOAT_OP(Round, nullptr, "Nearest integer, halves to the even one.");
EC_FLOAT_OP(Sin, nullptr, "Sine of radians.");
EC_FLOAT_OP(Cos, nullptr, "Cosine of radians.");
EC_FLOAT_OP(Tan, nullptr, "Tangent of radians.");
EC_FLOAT_OP(Asin, nullptr, "Inverse sine.");
EC_FLOAT_OP(Acos, nullptr, "Inverse cosine.");
EC_FLOAT_OP(Atan, nullptr, "Inverse tangent.");
EC_FLOAT_OP(Sinh, nullptr, "Hyperbolic sine.");
EC_FLOAT_OP(Cosh, nullptr, "Hyperbolic cosine.");
EC_FLOAT_OP(Asinh, nullptr, "Inverse hyperbolic sine.");
EC_FLOAT_OP(Acosh, nullptr, "Inverse hyperbolic cosine.");
EC_FLOAT_OP(Atanh, nullptr, "Inverse hyperbolic tangent.");
#undef EC_FLOAT_OP

EC_OP_DEF(Tanh, .signature = "(x) -> y", .summary = "Hyperbolic tangent.",
          .traits = {.elementwise = true}, .infer = infer_unary<kFloats>,
          .reference = map_float<TanhFn>, .quantized = quantized::tanh,
          .quant = QuantRule::FixedOutput, .layout = LayoutRule::Agnostic);
EC_OP_DEF(Erf, .signature = "(x) -> y", .summary = "Error function; integers truncate its value.",
          .traits = {.elementwise = true}, .infer = infer_unary<kNumbers>,
          .reference = map_float<ErfFn>, .quant = QuantRule::Free, .layout = LayoutRule::Agnostic);

}  // namespace ec::ops
