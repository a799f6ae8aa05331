// Element-wise functions of two operands with numpy broadcasting, and where(). Semantics are those
// of the ONNX operators; integers wrap, dividing an integer by zero is an error.
#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/quantized/kernels.h"
#include "ops/shape_rules.h"
#include "ops/shape_values.h"
#include "support/rounding.h"

namespace ec::ops {
namespace {

// --- functions ----------------------------------------------------------------------------------
// F on floats, W on integers.
#define EC_ARITHMETIC(Name, operation, wrapping) \
  struct Name##Fn {                              \
    template <class C>                           \
    C operator()(C a, C b) const {               \
      if constexpr (std::is_floating_point_v<C>) \
        return a operation b;                    \
      else                                       \
        return wrapping(a, b);                   \
    }                                            \
  };
EC_ARITHMETIC(Add, +, wrapping_add)
EC_ARITHMETIC(Sub, -, wrapping_sub)
EC_ARITHMETIC(Mul, *, wrapping_mul)
EC_ARITHMETIC(Div, /, divide_truncated)
#undef EC_ARITHMETIC

#define EC_PAIR_FN(Name, expression)  \
  struct Name##Fn {                   \
    template <class C>                \
    auto operator()(C a, C b) const { \
      return expression;              \
    }                                 \
  };
EC_PAIR_FN(Max, max_of(a, b))
EC_PAIR_FN(Min, min_of(a, b))
EC_PAIR_FN(BitwiseAnd, static_cast<C>(a& b))
EC_PAIR_FN(BitwiseOr, static_cast<C>(a | b))
EC_PAIR_FN(BitwiseXor, static_cast<C>(a ^ b))
EC_PAIR_FN(Equal, static_cast<uint8_t>(a == b))
EC_PAIR_FN(Less, static_cast<uint8_t>(a < b))
EC_PAIR_FN(LessOrEqual, static_cast<uint8_t>(a <= b))
EC_PAIR_FN(Greater, static_cast<uint8_t>(a > b))
EC_PAIR_FN(GreaterOrEqual, static_cast<uint8_t>(a >= b))
EC_PAIR_FN(And, static_cast<uint8_t>(a != 0 && b != 0))
EC_PAIR_FN(Or, static_cast<uint8_t>(a != 0 || b != 0))
EC_PAIR_FN(Xor, static_cast<uint8_t>((a != 0) != (b != 0)))
#undef EC_PAIR_FN

struct FlooredModFn {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>)
      return float_remainder_floored(a, b);
    else
      return remainder_floored(a, b);
  }
};
struct TruncatedModFn {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>)
      return std::fmod(a, b);
    else
      return remainder_truncated(a, b);
  }
};

struct SquaredDifferenceFn {
  template <class C>
  C operator()(C a, C b) const {
    const C difference = SubFn{}(a, b);
    return MulFn{}(difference, difference);
  }
};
struct FloorDivFn {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>) {
      return std::floor(a / b);
    } else {
      const C quotient = divide_truncated(a, b);
      // The remainder has the sign of a where the quotient was rounded up.
      const bool rounded_up =
          std::is_signed_v<C> && wrapping_mul(quotient, b) != a && ((a < 0) != (b < 0));
      return rounded_up ? wrapping_sub(quotient, C{1}) : quotient;
    }
  }
};
struct Atan2Fn {
  template <class C>
  C operator()(C a, C b) const {
    return std::atan2(a, b);
  }
};

// --- loops --------------------------------------------------------------------------------------
template <class C, class F>
Status pair_as(KernelContext& ctx, const F& f) {
  EC_TRY(const BroadcastPlan plan, plan_operands(ctx, 2));
  const Reader<C> a(ctx.input(0)), b(ctx.input(1));
  Writer<C> out(ctx.output(0));
  map_broadcast<C>(plan, a.data(), b.data(), out.data(), f);
  out.commit();
  return {};
}

template <class F>
Status pair_numeric(KernelContext& ctx) {
  return with_compute_type(ctx.input(0).dtype,
                           [&](auto c) { return pair_as<decltype(c)>(ctx, F{}); });
}

template <class F>
Status pair_integer(KernelContext& ctx) {
  if (ctx.input(0).dtype == DType::U64) return pair_as<uint64_t>(ctx, F{});
  return pair_as<int64_t>(ctx, F{});
}

template <class F>
Status compare(KernelContext& ctx) {
  EC_TRY(const BroadcastPlan plan, plan_operands(ctx, 2));
  uint8_t* out = ctx.output(0).as<uint8_t>().data();
  with_compute_type(ctx.input(0).dtype, [&](auto c) {
    const Reader<decltype(c)> a(ctx.input(0)), b(ctx.input(1));
    map_broadcast<uint8_t>(plan, a.data(), b.data(), out, F{});
  });
  return {};
}

template <class F>
Status logic(KernelContext& ctx) {
  EC_TRY(const BroadcastPlan plan, plan_operands(ctx, 2));
  map_broadcast<uint8_t>(plan, ctx.input(0).as<uint8_t>().data(), ctx.input(1).as<uint8_t>().data(),
                         ctx.output(0).as<uint8_t>().data(), F{});
  return {};
}

// Integers have no quotient by zero; floats give infinity or NaN.
Status check_divisor(KernelContext& ctx) {
  if (is_float(ctx.input(1).dtype) || ctx.output(0).count() == 0) return {};
  const Reader<int64_t> divisor(ctx.input(1));
  const auto values = divisor.values();
  if (std::find(values.begin(), values.end(), 0) == values.end()) return {};
  return ctx.fail("division of integers by zero");
}

Status divide(KernelContext& ctx) {
  EC_CHECK_OK(check_divisor(ctx));
  return pair_numeric<DivFn>(ctx);
}

Status floor_divide(KernelContext& ctx) {
  EC_CHECK_OK(check_divisor(ctx));
  return pair_numeric<FloorDivFn>(ctx);
}

template <class F>
Status pair_float(KernelContext& ctx) {
  return with_float_type(ctx.input(0).dtype,
                         [&](auto c) { return pair_as<decltype(c)>(ctx, F{}); });
}

Status modulo(KernelContext& ctx) {
  EC_CHECK_OK(check_divisor(ctx));
  return ctx.attrs<ModAttrs>().fmod ? pair_numeric<TruncatedModFn>(ctx)
                                    : pair_numeric<FlooredModFn>(ctx);
}

Status bit_shift(KernelContext& ctx) {
  const int64_t width = bit_width(ctx.input(0).dtype);
  const bool left = ctx.attrs<BitShiftAttrs>().left;
  const auto shift = [&](auto x, auto by) {
    using C = decltype(x);
    // Beyond the width only the sign is left.
    const bool outside = by < C{0} || by >= static_cast<C>(width);
    if (left) return outside ? C{0} : static_cast<C>(static_cast<uint64_t>(x) << by);
    if (outside) return x < C{0} ? static_cast<C>(-1) : C{0};
    return static_cast<C>(x >> by);
  };
  if (ctx.input(0).dtype == DType::U64) return pair_as<uint64_t>(ctx, shift);
  return pair_as<int64_t>(ctx, shift);
}

// --- pow ----------------------------------------------------------------------------------------
// Wraps as repeated multiplication does; negative exponents truncate the fraction, so that only 1
// and -1 survive (0 has no inverse and stays 0).
template <class C>
C integer_power(C base, int64_t exponent) {
  if (exponent < 0) {
    if (base == C{1}) return base;
    if (base == static_cast<C>(-1) && std::is_signed_v<C>) return exponent % 2 == 0 ? C{1} : base;
    return 0;
  }
  C result = 1;
  for (C square = base; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = wrapping_mul(result, square);
    square = wrapping_mul(square, square);
  }
  return result;
}

template <class C>
void float_power(KernelContext& ctx, const BroadcastPlan& plan) {
  const Reader<C> base(ctx.input(0)), exponent(ctx.input(1));
  Writer<C> out(ctx.output(0));
  // Squares are what exporters write most.
  if (exponent.size() == 1 && base.size() == out.size() && exponent[0] == C{2})
    for (size_t i = 0; i < out.size(); ++i) out[i] = base[i] * base[i];
  else
    map_broadcast<C>(plan, base.data(), exponent.data(), out.data(),
                     [](C x, C y) { return std::pow(x, y); });
  out.commit();
}

template <class C>
void whole_power(KernelContext& ctx, const BroadcastPlan& plan) {
  const Reader<C> base(ctx.input(0));
  Writer<C> out(ctx.output(0));
  if (ctx.input(1).dtype == DType::U64) {
    // x^y = (x^(y / 2))^2 x^(y mod 2): the halved exponent fits a signed integer.
    const Reader<uint64_t> exponent(ctx.input(1));
    map_broadcast<C>(plan, base.data(), exponent.data(), out.data(), [](C x, uint64_t y) {
      const C high = integer_power(x, static_cast<int64_t>(y >> 1));
      return wrapping_mul(wrapping_mul(high, high), y & 1 ? x : C{1});
    });
  } else {
    const Reader<int64_t> exponent(ctx.input(1));
    map_broadcast<C>(plan, base.data(), exponent.data(), out.data(),
                     [](C x, int64_t y) { return integer_power(x, y); });
  }
  out.commit();
}

Status power(KernelContext& ctx) {
  EC_TRY(const BroadcastPlan plan, plan_operands(ctx, 2));
  const DType base = ctx.input(0).dtype, exponent = ctx.input(1).dtype;
  if (is_float(base)) {
    if (base == DType::F64)
      float_power<double>(ctx, plan);
    else
      float_power<float>(ctx, plan);
  } else if (is_float(exponent)) {
    float_power<double>(ctx, plan);
  } else if (base == DType::U64) {
    whole_power<uint64_t>(ctx, plan);
  } else {
    whole_power<int64_t>(ctx, plan);
  }
  return {};
}

// --- where --------------------------------------------------------------------------------------
template <class T>
void select(KernelContext& ctx, const BroadcastPlan& plan) {
  const uint8_t* condition = ctx.input(0).as<uint8_t>().data();
  const T* x = ctx.input(1).as<T>().data();
  const T* y = ctx.input(2).as<T>().data();
  T* out = ctx.output(0).as<T>().data();
  const int64_t sc = plan.inner_strides[0], sx = plan.inner_strides[1], sy = plan.inner_strides[2];
  for_each_run<3>(plan, [&](int64_t at, const std::array<int64_t, 3>& from) {
    for (int64_t i = 0; i < plan.inner; ++i)
      out[at + i] = condition[from[0] + i * sc] != 0 ? x[from[1] + i * sx] : y[from[2] + i * sy];
  });
}

Status where(KernelContext& ctx) {
  EC_TRY(const BroadcastPlan plan, plan_operands(ctx, 3));
  switch (element_size(ctx.output(0).dtype)) {
    case 1:
      select<uint8_t>(ctx, plan);
      break;
    case 2:
      select<uint16_t>(ctx, plan);
      break;
    case 4:
      select<uint32_t>(ctx, plan);
      break;
    default:
      select<uint64_t>(ctx, plan);
      break;
  }
  return {};
}

// --- inference ----------------------------------------------------------------------------------
using KnownFn = Dim (*)(const ShapeElement&, const ShapeElement&);

Dim known_nothing(const ShapeElement&, const ShapeElement&) { return Dim::unknown(); }

template <const TypeClass& kTypes, KnownFn kKnown = known_nothing>
Status infer_pair(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kTypes));
  EC_CHECK_OK(infer_broadcast_same_type(ctx));
  propagate_binary(ctx, kKnown);
  return {};
}
template <const TypeClass& kTypes, KnownFn kKnown>
Status infer_compare(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kTypes));
  EC_CHECK_OK(infer_broadcast_bool(ctx));
  propagate_binary(ctx, kKnown);
  return {};
}

Status infer_power(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kNumbers));
  EC_CHECK_OK(check_type(ctx, 1, kNumbers));
  std::optional<Shape> shape;
  if (ctx.shape(0) && ctx.shape(1)) {
    EC_TRY(shape, broadcast_shapes(ctx, *ctx.shape(0), *ctx.shape(1)));
  }
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

Status infer_where(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kBooleans));
  if (ctx.dtype(1) != ctx.dtype(2))
    return ctx.bad_type("choices have different element types: " + operand_text(ctx, 1) + " and " +
                        operand_text(ctx, 2));
  std::optional<Shape> shape;
  if (ctx.shape(0) && ctx.shape(1) && ctx.shape(2)) {
    EC_TRY(const Shape both, broadcast_shapes(ctx, *ctx.shape(1), *ctx.shape(2)));
    EC_TRY(shape, broadcast_shapes(ctx, *ctx.shape(0), both));
  }
  ctx.set(0, ctx.dtype(1), std::move(shape));
  propagate_where(ctx);
  return {};
}

constexpr OpTraits kPlain{.elementwise = true};
constexpr OpTraits kSwaps{.elementwise = true, .commutative = true};

}  // namespace

#define EC_INTEGER_PAIR_OP(Name, traits_of, infer_fn, kernel, integer_kernel, quant_rule, text) \
  EC_OP_DEF(Name, .signature = "(a, b) -> y", .summary = text, .traits = traits_of,             \
            .infer = infer_fn, .reference = kernel, .quantized = integer_kernel,                \
            .quant = QuantRule::quant_rule, .layout = LayoutRule::Agnostic)
#define EC_PAIR_OP(Name, traits_of, infer_fn, kernel, quant_rule, text) \
  EC_INTEGER_PAIR_OP(Name, traits_of, infer_fn, kernel, nullptr, quant_rule, text)

EC_INTEGER_PAIR_OP(Add, kSwaps, (infer_pair<kNumbers, known_add>), pair_numeric<AddFn>,
                   quantized::add, Free, "a + b.");
EC_INTEGER_PAIR_OP(Sub, kPlain, (infer_pair<kNumbers, known_sub>), pair_numeric<SubFn>,
                   quantized::sub, Free, "a - b.");
EC_INTEGER_PAIR_OP(Mul, kSwaps, (infer_pair<kNumbers, known_mul>), pair_numeric<MulFn>,
                   quantized::mul, Free, "a * b.");
EC_INTEGER_PAIR_OP(Div, kPlain, (infer_pair<kNumbers, known_div>), divide, quantized::div, Free,
                   "a / b; integers round towards zero.");
EC_PAIR_OP(Pow, kPlain, infer_power, power, Never,
           "a to the power of b, in the type of a; b may have another type.");
EC_PAIR_OP(Mod, kPlain, (infer_pair<kNumbers, known_mod>), modulo, Never,
           "Remainder of a / b with the sign of b, or of a when fmod.");
EC_PAIR_OP(Max, kSwaps, (infer_pair<kNumbers, known_max>), pair_numeric<MaxFn>, SameAsInput,
           "The larger of a and b; NaN when one is.");
EC_PAIR_OP(Min, kSwaps, (infer_pair<kNumbers, known_min>), pair_numeric<MinFn>, SameAsInput,
           "The smaller of a and b; NaN when one is.");
EC_INTEGER_PAIR_OP(SquaredDifference, kSwaps, infer_pair<kNumbers>,
                   pair_numeric<SquaredDifferenceFn>, quantized::squared_difference, Free,
                   "(a - b) squared.");
EC_PAIR_OP(FloorDiv, kPlain, infer_pair<kNumbers>, floor_divide, Never,
           "a / b rounded down, also for integers.");
EC_PAIR_OP(Atan2, kPlain, infer_pair<kFloats>, pair_float<Atan2Fn>, Never,
           "The angle of the point (b, a), in radians.");
EC_PAIR_OP(And, kSwaps, (infer_pair<kBooleans, known_and>), logic<AndFn>, Never, "Logical and.");
EC_PAIR_OP(Or, kSwaps, (infer_pair<kBooleans, known_or>), logic<OrFn>, Never, "Logical or.");
EC_PAIR_OP(Xor, kSwaps, infer_pair<kBooleans>, logic<XorFn>, Never, "Logical exclusive or.");
EC_PAIR_OP(BitwiseAnd, kSwaps, infer_pair<kIntegers>, pair_integer<BitwiseAndFn>, Never,
           "And of all bits of two integers.");
EC_PAIR_OP(BitwiseOr, kSwaps, infer_pair<kIntegers>, pair_integer<BitwiseOrFn>, Never,
           "Or of all bits of two integers.");
EC_PAIR_OP(BitwiseXor, kSwaps, infer_pair<kIntegers>, pair_integer<BitwiseXorFn>, Never,
           "Exclusive or of all bits of two integers.");
EC_PAIR_OP(
    BitShift, kPlain, infer_pair<kIntegers>, bit_shift, Never,
    "a shifted by b bits; right shifts keep the sign, shifts beyond the width leave only it.");
EC_INTEGER_PAIR_OP(Equal, kSwaps, (infer_compare<kAnything, known_equal>), compare<EqualFn>,
                   quantized::equal, Compared, "True where a equals b.");
EC_INTEGER_PAIR_OP(Less, kPlain, (infer_compare<kNumbers, known_lt>), compare<LessFn>,
                   quantized::less, Compared, "True where a is less than b.");
EC_INTEGER_PAIR_OP(LessOrEqual, kPlain, (infer_compare<kNumbers, known_le>), compare<LessOrEqualFn>,
                   quantized::less_or_equal, Compared, "True where a is at most b.");
EC_INTEGER_PAIR_OP(Greater, kPlain, (infer_compare<kNumbers, known_gt>), compare<GreaterFn>,
                   quantized::greater, Compared, "True where a is greater than b.");
EC_INTEGER_PAIR_OP(GreaterOrEqual, kPlain, (infer_compare<kNumbers, known_ge>),
                   compare<GreaterOrEqualFn>, quantized::greater_or_equal, Compared,
                   "True where a is at least b.");
#undef EC_PAIR_OP
#undef EC_INTEGER_PAIR_OP

EC_OP_DEF(Where, .signature = "(condition, x, y) -> z",
          .summary = "x where the condition is true, else y.", .traits = {.elementwise = true},
          .infer = infer_where, .reference = where, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::Agnostic);

}  // namespace ec::ops
