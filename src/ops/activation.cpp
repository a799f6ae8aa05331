// Activation functions. Formulas are those of the ONNX operators of the same name, written so that
// large arguments do not overflow.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/quantized/kernels.h"
#include "ops/shape_values.h"
#include "support/rounding.h"

namespace ec::ops {
namespace {

template <class C>
C sigmoid_of(C x) {
  return C{1} / (C{1} + std::exp(-x));
}
template <class C>
C softplus_of(C x) {
  return (x > 0 ? x : C{0}) + std::log1p(std::exp(-std::fabs(x)));
}
// Clamps to [0, 1]; NaN stays.
template <class C>
C unit_clamp(C x) {
  return x < 0 ? C{0} : x > 1 ? C{1} : x;
}

struct ReluFn {
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_unsigned_v<C>)
      return x;
    else
      return x < 0 ? C{0} : x;
  }
};
struct SigmoidFn {
  template <class C>
  C operator()(C x) const {
    return sigmoid_of(x);
  }
};
struct SoftplusFn {
  template <class C>
  C operator()(C x) const {
    return softplus_of(x);
  }
};
struct SoftsignFn {
  template <class C>
  C operator()(C x) const {
    return x / (C{1} + std::fabs(x));
  }
};
struct MishFn {
  template <class C>
  C operator()(C x) const {
    return x * std::tanh(softplus_of(x));
  }
};
struct HardSwishFn {
  template <class C>
  C operator()(C x) const {
    return x * unit_clamp(x / C{6} + C{0.5});
  }
};

Status silu(KernelContext& ctx) {
  const float alpha = ctx.attrs<SiluAttrs>().alpha;
  return map_float(ctx, [alpha](auto x) {
    using C = decltype(x);
    return x * sigmoid_of(static_cast<C>(alpha) * x);
  });
}

Status gelu(KernelContext& ctx) {
  if (ctx.attrs<GeluAttrs>().form == GeluForm::Exact)
    return map_float(ctx, [](auto x) {
      using C = decltype(x);
      constexpr auto kSqrtHalf = static_cast<C>(0.70710678118654752440);
      return C{0.5} * x * (C{1} + std::erf(x * kSqrtHalf));
    });
  return map_float(ctx, [](auto x) {
    using C = decltype(x);
    constexpr auto kSqrtTwoOverPi = static_cast<C>(0.79788456080286535588);
    const C inner = kSqrtTwoOverPi * (x + static_cast<C>(0.044715) * x * x * x);
    return C{0.5} * x * (C{1} + std::tanh(inner));
  });
}

Status elu(KernelContext& ctx) {
  const float alpha = ctx.attrs<AlphaAttrs>().alpha;
  return map_float(ctx, [alpha](auto x) {
    using C = decltype(x);
    return x < 0 ? static_cast<C>(alpha) * std::expm1(x) : x;
  });
}

Status celu(KernelContext& ctx) {
  const float alpha = ctx.attrs<AlphaAttrs>().alpha;
  return map_float(ctx, [alpha](auto x) {
    using C = decltype(x);
    const auto a = static_cast<C>(alpha);
    const C positive = x < 0 ? C{0} : x;
    const C negative = a * std::expm1(x / a);
    return positive + (negative < 0 ? negative : C{0});
  });
}

Status selu(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<SeluAttrs>();
  return map_float(ctx, [&attrs](auto x) {
    using C = decltype(x);
    const auto gamma = static_cast<C>(attrs.gamma);
    return x <= 0 ? gamma * static_cast<C>(attrs.alpha) * std::expm1(x) : gamma * x;
  });
}

Status leaky_relu(KernelContext& ctx) {
  const float alpha = ctx.attrs<LeakyReluAttrs>().alpha;
  return map_float(ctx, [alpha](auto x) {
    using C = decltype(x);
    return x < 0 ? static_cast<C>(alpha) * x : x;
  });
}

Status thresholded_relu(KernelContext& ctx) {
  const float alpha = ctx.attrs<AlphaAttrs>().alpha;
  return map_float(ctx, [alpha](auto x) {
    using C = decltype(x);
    return x > static_cast<C>(alpha) ? x : C{0};
  });
}

Status hard_sigmoid(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<HardSigmoidAttrs>();
  return map_float(ctx, [&attrs](auto x) {
    using C = decltype(x);
    return unit_clamp(static_cast<C>(attrs.alpha) * x + static_cast<C>(attrs.beta));
  });
}

Status shrink(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ShrinkAttrs>();
  return map_float(ctx, [&attrs](auto x) {
    using C = decltype(x);
    const auto lambda = static_cast<C>(attrs.lambd), bias = static_cast<C>(attrs.bias);
    return x < -lambda ? x + bias : x > lambda ? x - bias : C{0};
  });
}

// --- clip ---------------------------------------------------------------------------------------
Status clip(KernelContext& ctx) {
  for (size_t i = 1; i < 3; ++i)
    if (ctx.has(i) && ctx.input(i).count() != 1) return ctx.fail("a bound is not a single value");
  with_compute_type(ctx.input(0).dtype, [&](auto c) {
    using C = decltype(c);
    const auto bound = [&](size_t i) -> std::optional<C> {
      if (!ctx.has(i)) return std::nullopt;
      return Reader<C>(ctx.input(i))[0];
    };
    const std::optional<C> low = bound(1), high = bound(2);
    map_as<C>(ctx.input(0), ctx.output(0), [&](C x) {
      if (low) x = max_of(x, *low);
      return high ? min_of(x, *high) : x;
    });
  });
  return {};
}

void propagate_clip(InferContext& ctx) {
  std::optional<int64_t> low = INT64_MIN, high = INT64_MAX;
  const auto read = [&](size_t i, std::optional<int64_t>& bound) {
    if (!ctx.has(i)) return;
    const auto values = ctx.int_values(i);
    bound = values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
  };
  read(1, low);
  read(2, high);
  if (!low || !high) return;
  propagate_unary(ctx, [&](const ShapeElement& e) {
    if (e.constant()) return dim_or_unknown(std::min(std::max(*e.constant(), *low), *high));
    return *low <= 0 && *high == INT64_MAX ? e.dim() : Dim::unknown();
  });
}

Status infer_clip(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kNumbers));
  for (size_t i = 1; i < 3; ++i) {
    if (!ctx.has(i)) continue;
    if (ctx.dtype(i) != ctx.dtype(0) && !carries_parameters(ctx))
      return ctx.bad_type("bound " + operand_text(ctx, i) + " has another element type than " +
                          operand_text(ctx, 0));
  }
  EC_CHECK_OK(infer_same_as_first(ctx));
  propagate_clip(ctx);
  return {};
}

// --- prelu --------------------------------------------------------------------------------------
Status prelu(KernelContext& ctx) {
  EC_TRY(const BroadcastPlan plan, plan_operands(ctx, 2));
  with_compute_type(ctx.input(0).dtype, [&](auto c) {
    using C = decltype(c);
    const Reader<C> x(ctx.input(0)), slope(ctx.input(1));
    Writer<C> y(ctx.output(0));
    map_broadcast<C>(plan, x.data(), slope.data(), y.data(), [](C v, C s) {
      if constexpr (std::is_floating_point_v<C>)
        return v < 0 ? v * s : v;
      else if constexpr (std::is_signed_v<C>)
        return v < 0 ? wrapping_mul(v, s) : v;
      else
        return v;
    });
    y.commit();
  });
  return {};
}

Status infer_prelu(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kNumbers));
  if (ctx.dtype(1) != ctx.dtype(0) && !carries_parameters(ctx))
    return ctx.bad_type("slope " + operand_text(ctx, 1) + " has another element type than " +
                        operand_text(ctx, 0));
  EC_CHECK_OK(check_broadcasts(ctx, 1));
  return infer_same_as_first(ctx);
}

}  // namespace

EC_OP_DEF(Relu, .signature = "(x) -> y", .summary = "max(x, 0).", .traits = {.elementwise = true},
          .infer = infer_unary<kNumbers>, .reference = map_numeric<ReluFn>,
          .quantized = quantized::relu, .quant = QuantRule::Free, .layout = LayoutRule::Agnostic);
EC_OP_DEF(Sigmoid, .signature = "(x) -> y", .summary = "1 / (1 + exp(-x)).",
          .traits = {.elementwise = true}, .infer = infer_unary<kFloats>,
          .reference = map_float<SigmoidFn>, .quantized = quantized::sigmoid,
          .quant = QuantRule::FixedOutput, .layout = LayoutRule::Agnostic);

#define EC_ACTIVATION(Name, kernel, integer_kernel, text)                                    \
  EC_OP_DEF(Name, .signature = "(x) -> y", .summary = text, .traits = {.elementwise = true}, \
            .infer = infer_unary<kFloats>, .reference = kernel, .quantized = integer_kernel, \
            .quant = QuantRule::Free, .layout = LayoutRule::Agnostic)
EC_ACTIVATION(Softplus, map_float<SoftplusFn>, nullptr, "log(1 + exp(x)).");
EC_ACTIVATION(Softsign, map_float<SoftsignFn>, nullptr, "x / (1 + |x|).");
EC_ACTIVATION(Mish, map_float<MishFn>, nullptr, "x * tanh(softplus(x)).");
EC_ACTIVATION(Silu, silu, nullptr, "x * sigmoid(alpha x), also known as Swish.");
EC_ACTIVATION(HardSwish, map_float<HardSwishFn>, quantized::hard_swish,
              "x * clamp(x / 6 + 1/2, 0, 1).");
EC_ACTIVATION(Gelu, gelu, quantized::gelu,
              "x * Phi(x) with the normal distribution Phi, exact or by tanh.");
EC_ACTIVATION(Elu, elu, quantized::elu, "x above zero, alpha (exp(x) - 1) below.");
EC_ACTIVATION(Celu, celu, nullptr, "max(0, x) + min(0, alpha (exp(x / alpha) - 1)).");
EC_ACTIVATION(Selu, selu, nullptr, "gamma x above zero, gamma alpha (exp(x) - 1) below.");
EC_ACTIVATION(LeakyRelu, leaky_relu, quantized::leaky_relu, "x above zero, alpha x below.");
EC_ACTIVATION(ThresholdedRelu, thresholded_relu, nullptr, "x where it exceeds alpha, else 0.");
EC_ACTIVATION(HardSigmoid, hard_sigmoid, nullptr, "clamp(alpha x + beta, 0, 1).");
#undef EC_ACTIVATION

EC_OP_DEF(Shrink, .signature = "(x) -> y",
          .summary = "Moves x towards zero by bias where |x| exceeds lambd; 0 in between.",
          .traits = {.elementwise = true}, .infer = infer_unary<kNumbers>, .reference = shrink,
          .quant = QuantRule::Free, .layout = LayoutRule::Agnostic);
constexpr Rule kClipRules[] = {rule::one_element("min"), rule::one_element("max")};
EC_OP_DEF(Clip, .signature = "(x, min?, max?) -> y",
          .summary = "min(max(x, min), max) with single-valued bounds; NaN stays NaN.",
          .rules = kClipRules, .traits = {.elementwise = true}, .infer = infer_clip,
          .reference = clip, .quantized = quantized::clip, .quant = QuantRule::Free,
          .layout = LayoutRule::Agnostic);
EC_OP_DEF(Prelu, .signature = "(x, slope) -> y",
          .summary = "x above zero, slope x below; the slope broadcasts to x.",
          .traits = {.elementwise = true}, .infer = infer_prelu, .reference = prelu,
          .quantized = quantized::prelu, .quant = QuantRule::Free, .layout = LayoutRule::Agnostic);

}  // namespace ec::ops
