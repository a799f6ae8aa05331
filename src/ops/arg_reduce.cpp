// Positions of extreme elements along an axis: arg_max, arg_min, top_k. NaN counts as larger than
// every number, and equal elements rank by index.
#include <algorithm>
#include <numeric>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

template <class C>
bool is_nan(C x) {
  if constexpr (std::is_floating_point_v<C>)
    return x != x;
  else
    return false;
}
// A total order with NaN at the top.
template <class C>
bool below(C a, C b) {
  if (is_nan(a)) return false;
  return is_nan(b) || a < b;
}

// --- arg_max, arg_min ---------------------------------------------------------------------------
// Whether `x` replaces the best so far. As in numpy, the first NaN wins both ways.
template <bool kMax, class C>
bool beats(C x, C best) {
  if (is_nan(best)) return false;
  if (is_nan(x)) return true;
  return kMax ? x > best : x < best;
}

template <bool kMax>
Status arg_extreme(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ArgReduceAttrs>();
  const ConstView& x = ctx.input(0);
  const auto out = ctx.output(0).as<int64_t>();
  if (out.empty()) return {};
  const int64_t axis = attrs.axis;
  const AxisSplit split = split_at_axis(x.shape, axis);
  if (split.size == 0) return ctx.fail("the axis has no elements to choose from");
  with_compute_type(x.dtype, [&](auto c) {
    using C = decltype(c);
    const Reader<C> in(x);
    Ticker ticker;
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i) {
        if (ticker.tick(split.size)) return;
        const C* column = in.data() + o * split.size * split.inner + i;
        int64_t best = 0;
        for (int64_t k = 1; k < split.size; ++k) {
          const C value = column[k * split.inner], top = column[best * split.inner];
          if (beats<kMax>(value, top) || (attrs.select_last && value == top)) best = k;
        }
        out[static_cast<size_t>(o * split.inner + i)] = best;
      }
  });
  return {};
}

Status infer_arg(InferContext& ctx) {
  const auto& attrs = ctx.attrs<ArgReduceAttrs>();
  EC_CHECK_OK(check_type(ctx, 0, kNumbers));
  std::optional<Shape> shape = ctx.shape(0);
  if (shape) {
    const int64_t axis = attrs.axis;
    const Dim& size = (*shape)[static_cast<size_t>(axis)];
    if (size.is_static() && size.size() == 0)
      return ctx.bad_shape("the axis of " + operand_text(ctx, 0) + " has no elements");
    if (attrs.keep_dims)
      (*shape)[static_cast<size_t>(axis)] = 1;
    else
      shape->dims().erase(shape->dims().begin() + axis);
  }
  ctx.set(0, DType::I64, std::move(shape));
  return {};
}

// --- top_k --------------------------------------------------------------------------------------
template <class C>
void top_k_as(KernelContext& ctx, const AxisSplit& split, int64_t k) {
  const auto& attrs = ctx.attrs<TopKAttrs>();
  const Reader<C> in(ctx.input(0));
  Writer<C> values(ctx.output(0));
  const auto indices = ctx.output(1).as<int64_t>();
  std::vector<int64_t> order(static_cast<size_t>(split.size));
  Ticker ticker;
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      if (ticker.tick(16 * split.size)) return;
      const C* column = in.data() + o * split.size * split.inner + i;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const C x = column[a * split.inner], y = column[b * split.inner];
        if (below(x, y)) return !attrs.largest;
        if (below(y, x)) return attrs.largest;
        return a < b;
      });
      for (int64_t j = 0; j < k; ++j) {
        const auto to = static_cast<size_t>((o * k + j) * split.inner + i);
        indices[to] = order[static_cast<size_t>(j)];
        values[to] = column[indices[to] * split.inner];
      }
    }
  values.commit();
}

Status top_k(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const int64_t axis = ctx.attrs<TopKAttrs>().axis;
  EC_TRY(const int64_t k, single_int(ctx, 1));
  const AxisSplit split = split_at_axis(x.shape, axis);
  if (k < 0 || k > split.size)
    return ctx.fail("k is " + std::to_string(k) + ", the axis has " + std::to_string(split.size) +
                    " elements");
  if (k == 0 || x.count() == 0) return {};
  with_compute_type(x.dtype, [&](auto c) { top_k_as<decltype(c)>(ctx, split, k); });
  return {};
}

Status infer_top_k(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kNumbers));
  Dim k = Dim::unknown();
  if (const auto value = ctx.int_values(1); value && value->size() == 1) {
    k = value->front();
  } else if (const auto dims = ctx.dim_values(1); dims && dims->size() == 1) {
    k = dims->front();
  }
  std::optional<Shape> shape = ctx.shape(0);
  if (shape) {
    const int64_t axis = ctx.attrs<TopKAttrs>().axis;
    Dim& size = (*shape)[static_cast<size_t>(axis)];
    if (k.is_static() && size.is_static() && k.size() > size.size())
      return ctx.bad_value("k is " + k.text() + ", the axis of " + operand_text(ctx, 0) + " has " +
                           size.text() + " elements");
    size = k;
  }
  ctx.set(0, ctx.dtype(0), shape);
  ctx.set(1, DType::I64, std::move(shape));
  return {};
}

}  // namespace

constexpr Rule kArgMaxRules[] = {rule::axis("axis", "x")};
EC_OP_DEF(ArgMax, .signature = "(x) -> indices",
          .summary = "Index of the largest element along an axis, the first or last of equals.",
          .rules = kArgMaxRules, .infer = infer_arg, .reference = arg_extreme<true>,
          .quant = QuantRule::Compared, .layout = LayoutRule::AxisAttr);
EC_OP_DEF(ArgMin, .signature = "(x) -> indices",
          .summary = "Index of the smallest element along an axis, the first or last of equals.",
          .rules = kArgMaxRules, .infer = infer_arg, .reference = arg_extreme<false>,
          .quant = QuantRule::Compared, .layout = LayoutRule::AxisAttr);
constexpr Rule kTopKRules[] = {rule::axis("axis", "x"), rule::integers("k"), rule::one_element("k"),
                               rule::not_negative("k")};
EC_OP_DEF(TopK, .signature = "(x, k) -> (values, indices)",
          .summary =
              "The k largest or smallest elements along an axis in order, with their "
              "indices; equal elements by index.",
          .rules = kTopKRules, .infer = infer_top_k, .reference = top_k,
          .quant = QuantRule::SameAsInput);

}  // namespace ec::ops
