// Running sums and products along an axis. Floats accumulate in double.
#include <type_traits>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "support/rounding.h"

namespace ec::ops {
namespace {

struct SumFn {
  template <class A>
  static constexpr A kStart = 0;
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (std::is_floating_point_v<A>)
      return a + b;
    else
      return wrapping_add(a, b);
  }
};
struct ProdFn {
  template <class A>
  static constexpr A kStart = 1;
  template <class A>
  A operator()(A a, A b) const {
    if constexpr (std::is_floating_point_v<A>)
      return a * b;
    else
      return wrapping_mul(a, b);
  }
};

template <class C, class F>
void scan(KernelContext& ctx, const AxisSplit& split) {
  using A = std::conditional_t<std::is_floating_point_v<C>, double, C>;
  const auto& attrs = ctx.attrs<CumulativeAttrs>();
  const Reader<C> in(ctx.input(0));
  Writer<C> out(ctx.output(0));
  // One accumulator per column, so that memory is walked in order.
  std::vector<A> acc(static_cast<size_t>(split.inner));
  for (int64_t o = 0; o < split.outer; ++o) {
    std::fill(acc.begin(), acc.end(), F::template kStart<A>);
    for (int64_t step = 0; step < split.size; ++step) {
      const int64_t k = attrs.reverse ? split.size - 1 - step : step;
      const auto row = static_cast<size_t>((o * split.size + k) * split.inner);
      for (size_t i = 0; i < acc.size(); ++i) {
        const A before = acc[i];
        acc[i] = F{}(before, static_cast<A>(in[row + i]));
        out[row + i] = static_cast<C>(attrs.exclusive ? before : acc[i]);
      }
    }
  }
  out.commit();
}

template <class F>
Status cumulate(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  EC_TRY(const int64_t given, single_int(ctx, 1));
  EC_TRY(const int64_t axis, kernel_axis(ctx, given, x.rank()));
  if (x.count() == 0) return {};
  const AxisSplit split = split_at_axis(x.shape, axis);
  with_compute_type(x.dtype, [&](auto c) { scan<decltype(c), F>(ctx, split); });
  return {};
}

Status infer_cumulative(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kNumbers));
  if (const auto axis = ctx.int_values(1); axis && axis->size() == 1 && ctx.shape(0)) {
    EC_TRY(const int64_t checked, normalize_axis(ctx, axis->front(), ctx.shape(0)->rank()));
    (void)checked;
  }
  return infer_same_as_first(ctx);
}

}  // namespace

constexpr Rule kCumSumRules[] = {rule::integers("axis"), rule::one_element("axis")};
EC_OP_DEF(CumSum, .signature = "(x, axis) -> y",
          .summary =
              "Running sum along an axis, with or without the element itself, from either "
              "end.",
          .rules = kCumSumRules, .infer = infer_cumulative, .reference = cumulate<SumFn>);
EC_OP_DEF(CumProd, .signature = "(x, axis) -> y",
          .summary =
              "Running product along an axis, with or without the element itself, from "
              "either end.",
          .rules = kCumSumRules, .infer = infer_cumulative, .reference = cumulate<ProdFn>);

}  // namespace ec::ops
