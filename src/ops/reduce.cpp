// Reductions over axes. All share one loop: the input is read once in order, and the accumulator of
// each result is found by broadcasting the result over the input. Floats accumulate in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/axis.h"
#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/quantized/kernels.h"
#include "ops/shape_rules.h"
#include "support/rounding.h"

namespace ec::ops {
namespace {

// --- what is accumulated ------------------------------------------------------------------------
// A policy gives the start value, one step and the result from the accumulator and the number of
// elements. A is double for floats, int64_t or uint64_t for integers.
template <class A>
A plus(A a, A b) {
  if constexpr (std::is_floating_point_v<A>)
    return a + b;
  else
    return wrapping_add(a, b);
}
template <class A>
A times(A a, A b) {
  if constexpr (std::is_floating_point_v<A>)
    return a * b;
  else
    return wrapping_mul(a, b);
}
template <class A>
A magnitude(A a) {
  if constexpr (std::is_floating_point_v<A>)
    return std::fabs(a);
  else if constexpr (std::is_signed_v<A>)
    return a < 0 ? wrapping_neg(a) : a;
  else
    return a;
}

struct Sum {
  template <class A>
  A start(DType) const {
    return 0;
  }
  template <class A>
  A step(A acc, A x) const {
    return plus(acc, x);
  }
  template <class A>
  A finish(A acc, int64_t) const {
    return acc;
  }
};
struct Mean : Sum {
  template <class A>
  A finish(A acc, int64_t count) const {
    if constexpr (std::is_floating_point_v<A>)
      return acc / static_cast<A>(count);
    else
      return count == 0 ? 0 : divide_truncated(acc, static_cast<A>(count));
  }
};
struct Prod : Sum {
  template <class A>
  A start(DType) const {
    return 1;
  }
  template <class A>
  A step(A acc, A x) const {
    return times(acc, x);
  }
};
struct Max : Sum {
  template <class A>
  A start(DType dtype) const {
    if constexpr (std::is_floating_point_v<A>)
      return -std::numeric_limits<A>::infinity();
    else
      return static_cast<A>(lowest_integer(dtype));
  }
  template <class A>
  A step(A acc, A x) const {
    return max_of(acc, x);
  }
};
struct Min : Sum {
  template <class A>
  A start(DType dtype) const {
    if constexpr (std::is_floating_point_v<A>)
      return std::numeric_limits<A>::infinity();
    else
      return static_cast<A>(highest_integer(dtype));
  }
  template <class A>
  A step(A acc, A x) const {
    return min_of(acc, x);
  }
};
struct L1 : Sum {
  template <class A>
  A step(A acc, A x) const {
    return plus(acc, magnitude(x));
  }
};
struct SumSquare : Sum {
  template <class A>
  A step(A acc, A x) const {
    return plus(acc, times(x, x));
  }
};
struct L2 : SumSquare {
  double finish(double acc, int64_t) const { return std::sqrt(acc); }
};
struct LogSum : Sum {
  double finish(double acc, int64_t) const { return std::log(acc); }
};

// --- the loop -----------------------------------------------------------------------------------
// The input's shape with reduced sizes set to 1.
Result<std::vector<int64_t>> kept_shape(const KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  std::vector<int64_t> shape(x.shape.begin(), x.shape.end());
  std::vector<int64_t> axes;
  if (ctx.has(1)) {
    const Reader<int64_t> values(ctx.input(1));
    axes.assign(values.values().begin(), values.values().end());
  }
  if (axes.empty()) {
    if (!ctx.attrs<ReduceAttrs>().noop_with_empty_axes) std::fill(shape.begin(), shape.end(), 1);
    return shape;
  }
  for (const int64_t axis : axes) {
    EC_TRY(const int64_t a, kernel_axis(ctx, axis, shape.size()));
    shape[static_cast<size_t>(a)] = 1;
  }
  if (count_elements(shape) != ctx.output(0).count())
    return ctx.fail("the axes do not fit the planned result");
  return shape;
}

// acc[o] = step(acc[o], x[i], o) for every element i and its result o.
template <class C, class A, class F>
void accumulate(std::span<const int64_t> shape, std::span<const int64_t> kept, const C* x, A* acc,
                F&& step) {
  const std::span<const int64_t> operands[] = {kept};
  const BroadcastPlan plan = plan_broadcast(shape, operands);
  const bool reduces_inner = plan.inner_strides[0] == 0;
  for_each_run<1>(plan, [&](int64_t from, const std::array<int64_t, 1>& to) {
    const C* in = x + from;
    const int64_t o = to[0];
    if (reduces_inner) {
      A sum = acc[o];
      for (int64_t i = 0; i < plan.inner; ++i) sum = step(sum, static_cast<A>(in[i]), o);
      acc[o] = sum;
    } else {
      for (int64_t i = 0; i < plan.inner; ++i)
        acc[o + i] = step(acc[o + i], static_cast<A>(in[i]), o + i);
    }
  });
}

template <class C, class A, class Policy>
Status reduce_as(KernelContext& ctx, const Policy& policy) {
  const ConstView& x = ctx.input(0);
  EC_TRY(const std::vector<int64_t> kept, kept_shape(ctx));
  const Reader<C> in(x);
  Writer<C> out(ctx.output(0));
  if (out.size() == 0) return {};
  std::vector<A> acc(out.size(), policy.template start<A>(x.dtype));
  accumulate(x.shape, kept, in.data(), acc.data(),
             [&](A sum, A value, int64_t) { return policy.step(sum, value); });
  const int64_t count = static_cast<int64_t>(in.size() / out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<C>(policy.finish(acc[i], count));
  out.commit();
  return {};
}

// In the compute type of the elements; floats accumulate in double.
template <class Policy>
Status reduce(KernelContext& ctx) {
  return with_compute_type(ctx.input(0).dtype, [&](auto c) -> Status {
    using C = decltype(c);
    using A = std::conditional_t<std::is_floating_point_v<C>, double, C>;
    return reduce_as<C, A>(ctx, Policy{});
  });
}

// In double throughout: roots and logarithms; integers truncate the result.
template <class Policy>
Status reduce_real(KernelContext& ctx) {
  return with_float_type(ctx.input(0).dtype, [&](auto c) -> Status {
    return reduce_as<decltype(c), double>(ctx, Policy{});
  });
}

// log(sum(exp(x))), shifted by the maximum of each result so that nothing overflows.
template <class C>
Status log_sum_exp_as(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  EC_TRY(const std::vector<int64_t> kept, kept_shape(ctx));
  const Reader<C> in(x);
  Writer<C> out(ctx.output(0));
  std::vector<double> shift(out.size(), -std::numeric_limits<double>::infinity());
  accumulate(x.shape, kept, in.data(), shift.data(),
             [](double top, double value, int64_t) { return max_of(top, value); });
  // Infinite maxima need no shift, and NaN stays NaN in the sum.
  for (double& s : shift)
    if (!std::isfinite(s)) s = 0.0;
  std::vector<double> sum(out.size(), 0.0);
  accumulate(x.shape, kept, in.data(), sum.data(), [&](double acc, double value, int64_t o) {
    return acc + std::exp(value - shift[static_cast<size_t>(o)]);
  });
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<C>(std::log(sum[i]) + shift[i]);
  out.commit();
  return {};
}

Status log_sum_exp(KernelContext& ctx) {
  return with_float_type(ctx.input(0).dtype,
                         [&](auto c) -> Status { return log_sum_exp_as<decltype(c)>(ctx); });
}

// --- inference ----------------------------------------------------------------------------------
Status check_axes(const InferContext& ctx) {
  if (!ctx.has(1)) return {};
  if (!is_integer(ctx.dtype(1)))
    return ctx.bad_type("axes are " + operand_text(ctx, 1) + "; they must be integers");
  if (ctx.shape(1) && ctx.shape(1)->rank() > 1)
    return ctx.bad_shape("axes are " + operand_text(ctx, 1) + "; they must be a list");
  return {};
}

// Axes whose values are not known: sizes stay open, the rank may follow from their number.
std::optional<Shape> shape_for_unknown_axes(const InferContext& ctx, size_t rank) {
  const auto count = ctx.type(1).num_elements();
  if (ctx.attrs<ReduceAttrs>().keep_dims) return Shape(std::vector<Dim>(rank, Dim::unknown()));
  if (!count || *count > static_cast<int64_t>(rank)) return std::nullopt;
  return Shape(std::vector<Dim>(rank - static_cast<size_t>(*count), Dim::unknown()));
}

Result<std::optional<Shape>> reduced_shape(const InferContext& ctx) {
  const auto& attrs = ctx.attrs<ReduceAttrs>();
  // Absent axes and an empty list of them are the same.
  const bool listed = ctx.has(1) && ctx.type(1).num_elements() != 0;
  const auto given = listed ? ctx.int_values(1) : std::vector<int64_t>{};
  const bool empty = given && given->empty();
  if (empty && attrs.noop_with_empty_axes) return ctx.shape(0);
  if (!ctx.shape(0)) {
    const bool scalar = empty && !attrs.keep_dims;
    return scalar ? std::optional(Shape{}) : std::optional<Shape>{};
  }
  const Shape& x = *ctx.shape(0);
  if (!given) return shape_for_unknown_axes(ctx, x.rank());
  std::vector<bool> reduced(x.rank(), empty);
  EC_TRY(const std::vector<int64_t> axes, normalize_axes(ctx, *given, x.rank()));
  for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
  Shape shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!reduced[d])
      shape.push_back(x[d]);
    else if (attrs.keep_dims)
      shape.push_back(1);
  }
  return std::optional(std::move(shape));
}

using FoldFn = Dim (*)(const ShapeElement&, const ShapeElement&);

// The product (sum, maximum) of all elements of a shape tensor.
void propagate_fold(InferContext& ctx, FoldFn fold) {
  if (fold == nullptr) return;
  const auto elements = shape_elements(ctx, 0);
  if (!elements || elements->empty() || ctx.results()[0].num_elements() != 1) return;
  ShapeElement sum = elements->front();
  for (size_t i = 1; i < elements->size(); ++i) {
    const Dim next = fold(sum, (*elements)[i]);
    if (next.is_unknown()) return;
    sum = ShapeElement(next);
  }
  if (!sum.dim().is_unknown()) ctx.set_dim_values(0, {sum.dim()});
}

template <const TypeClass& kTypes, FoldFn kFold = nullptr>
Status infer_reduce(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kTypes));
  EC_CHECK_OK(check_axes(ctx));
  EC_TRY(std::optional<Shape> shape, reduced_shape(ctx));
  ctx.set(0, ctx.dtype(0), std::move(shape));
  propagate_fold(ctx, kFold);
  return {};
}

}  // namespace

constexpr Rule kReduceRules[] = {rule::integers("axes")};

#define EC_REDUCE(Name, infer_fn, kernel, integer_kernel, quant_rule, text)               \
  EC_OP_DEF(Name, .signature = "(x, axes?) -> y", .summary = text, .rules = kReduceRules, \
            .infer = infer_fn, .reference = kernel, .quantized = integer_kernel,          \
            .quant = QuantRule::quant_rule, .layout = LayoutRule::AxisAttr)

EC_REDUCE(ReduceSum, (infer_reduce<kNumbers, known_add>), reduce<Sum>, quantized::reduce_sum, Free,
          "Sum over axes.");
EC_REDUCE(ReduceMean, infer_reduce<kNumbers>, reduce<Mean>, quantized::reduce_mean, Free,
          "Mean over axes.");
EC_REDUCE(ReduceMax, (infer_reduce<kAnything, known_max>), reduce<Max>, quantized::same_parameters,
          SameAsInput, "Maximum over axes; NaN when there is one, the lowest value for none.");
EC_REDUCE(ReduceMin, (infer_reduce<kAnything, known_min>), reduce<Min>, quantized::same_parameters,
          SameAsInput, "Minimum over axes; NaN when there is one, the highest value for none.");
EC_REDUCE(ReduceProd, (infer_reduce<kNumbers, known_mul>), reduce<Prod>, quantized::reduce_prod,
          Never, "Product over axes.");
EC_REDUCE(ReduceL1, infer_reduce<kNumbers>, reduce<L1>, nullptr, Never,
          "Sum of magnitudes over axes.");
EC_REDUCE(ReduceL2, infer_reduce<kNumbers>, reduce_real<L2>, nullptr, Never,
          "Square root of the sum of squares over axes.");
EC_REDUCE(ReduceLogSum, infer_reduce<kNumbers>, reduce_real<LogSum>, nullptr, Never,
          "Logarithm of the sum over axes.");
EC_REDUCE(ReduceLogSumExp, infer_reduce<kNumbers>, log_sum_exp, nullptr, Never,
          "Logarithm of the sum of exponentials over axes.");
EC_REDUCE(ReduceSumSquare, infer_reduce<kNumbers>, reduce<SumSquare>, nullptr, Never,
          "Sum of squares over axes.");
#undef EC_REDUCE

}  // namespace ec::ops
