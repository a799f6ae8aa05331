// Pooling over windows and over whole images.
#include <cmath>
#include <limits>

#include "ops/define.h"
#include "ops/pool_windows.h"
#include "ops/quantized/kernels.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// --- inference -----------------------------------------------------------------------------------

template <class A>
Result<std::optional<Shape>> infer_pooled_shape(const InferContext& ctx, const A& attrs) {
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  EC_CHECK_OK(check_window(ctx, spec));
  if (spec.rank() == 0) return ctx.bad_value("the pooling window has no dimensions");
  if (!ctx.shape(0)) return std::optional<Shape>{};
  Shape out = *ctx.shape(0);
  if (out.rank() != spec.rank() + 2)
    return ctx.bad_shape("a window of " + std::to_string(spec.rank()) +
                         " dimensions cannot slide over " + operand_text(ctx, 0));
  for (size_t d = 0; d < spec.rank(); ++d) {
    const size_t axis = spatial_axis(attrs.layout, d);
    EC_TRY(out[axis], infer_window(ctx, spec, d, out[axis]));
  }
  return std::optional<Shape>(std::move(out));
}

Status check_float(const InferContext& ctx) {
  if (!is_float(ctx.dtype(0)) && !ctx.type(0).quant)
    return ctx.bad_type("pooling needs a float type, not " + operand_text(ctx, 0));
  return {};
}

Status check_number(const InferContext& ctx) {
  if (ctx.dtype(0) == DType::Bool)
    return ctx.bad_type("pooling needs numbers, not " + operand_text(ctx, 0));
  return {};
}

Status infer_max_pool(InferContext& ctx) {
  EC_CHECK_OK(check_number(ctx));
  EC_TRY(std::optional<Shape> shape, infer_pooled_shape(ctx, ctx.attrs<PoolAttrs>()));
  if (ctx.num_outputs() > 1) ctx.set(1, DType::I64, shape);
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

template <class A>
Status infer_float_pool(InferContext& ctx) {
  EC_CHECK_OK(check_float(ctx));
  if constexpr (std::is_same_v<A, LpPoolAttrs>)
    if (ctx.attrs<A>().p < 1)
      return ctx.bad_value("p " + std::to_string(ctx.attrs<A>().p) + " should be at least 1");
  EC_TRY(std::optional<Shape> shape, infer_pooled_shape(ctx, ctx.attrs<A>()));
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

Status infer_global_pool(InferContext& ctx) {
  EC_CHECK_OK(check_number(ctx));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  if (!ctx.shape(0)) return {};
  Shape out = *ctx.shape(0);
  if (out.rank() < 2)
    return ctx.bad_shape("global pooling needs [N, C, ...], not " + operand_text(ctx, 0));
  for (size_t d = 0; d + 2 < out.rank(); ++d)
    out[spatial_axis(ctx.attrs<GlobalPoolAttrs>().layout, d)] = Dim(1);
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status infer_global_avg_pool(InferContext& ctx) {
  EC_CHECK_OK(check_float(ctx));
  return infer_global_pool(ctx);
}

// --- kernels -------------------------------------------------------------------------------------

// Where the elements of planes lie, and how many planes there are.
struct PoolShape {
  std::vector<WindowDim> windows;
  int64_t planes = 0, channels = 0, inputs = 1, outputs = 1;
  bool channels_first = true;

  template <class A>
  PoolShape(KernelContext& ctx, const A& attrs) {
    const auto shape = channels_first_shape(attrs.layout, ctx.input(0).shape);
    const std::span<const int64_t> spatial = std::span(shape).subspan(2);
    windows = resolve_windows(window_spec(attrs, attrs.kernel), spatial);
    channels = shape[1];
    planes = shape[0] * channels;
    for (const WindowDim& w : windows) {
      inputs *= w.input;
      outputs *= w.output;
    }
    channels_first = attrs.layout == Layout::ChannelsFirst;
  }
  size_t at(int64_t plane, int64_t position, int64_t positions) const {
    return static_cast<size_t>(
        channels_first ? plane * positions + position
                       : (plane / channels * positions + position) * channels + plane % channels);
  }
  size_t in(int64_t plane, int64_t source) const { return at(plane, source, inputs); }
  size_t out(int64_t plane, int64_t position) const { return at(plane, position, outputs); }
};

template <class C>
C lowest(DType dtype) {
  return std::is_floating_point_v<C> ? -std::numeric_limits<C>::infinity()
                                     : static_cast<C>(lowest_integer(dtype));
}

// Row-major position to column-major position in a plane.
int64_t column_major(std::span<const WindowDim> windows, int64_t source) {
  std::vector<int64_t> index(windows.size());
  for (size_t d = windows.size(); d-- > 0;) {
    index[d] = source % windows[d].input;
    source /= windows[d].input;
  }
  int64_t out = 0;
  for (size_t d = windows.size(); d-- > 0;) out = out * windows[d].input + index[d];
  return out;
}

// The first not-a-number of a window is its maximum.
template <class C>
bool exceeds(C value, C best) {
  return value > best || (value != value && best == best);
}

template <class C>
void run_max_pool(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<PoolAttrs>();
  const PoolShape shape(ctx, attrs);
  const Reader<C> x(ctx.input(0));
  Writer<C> out(ctx.output(0));
  const std::span<int64_t> indices =
      ctx.num_outputs() > 1 ? ctx.output(1).as<int64_t>() : std::span<int64_t>{};
  Ticker ticker;
  for_each_window(shape.windows, [&](const PoolWindow& window) {
    for (int64_t plane = 0; plane < shape.planes; ++plane) {
      if (ticker.tick(static_cast<int64_t>(window.sources.size()))) return;
      C best = lowest<C>(ctx.output(0).dtype);
      int64_t where = -1;
      for (const int64_t source : window.sources) {
        const C value = x[shape.in(plane, source)];
        if (where >= 0 && !exceeds(value, best)) continue;
        best = value;
        where = source;
      }
      out[shape.out(plane, window.position)] = best;
      if (indices.empty()) continue;
      if (attrs.column_major_indices && where >= 0) where = column_major(shape.windows, where);
      // Counted over the whole tensor as if it were stored channels first; -1 in the padding.
      indices[shape.out(plane, window.position)] = where < 0 ? -1 : plane * shape.inputs + where;
    }
  });
  out.commit();
}

Status reference_max_pool(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  with_compute_type(ctx.output(0).dtype, [&](auto type) { run_max_pool<decltype(type)>(ctx); });
  return {};
}

// Pools that compute in double: reduce(x, window, plane) is the result of one window.
template <class A, class Reduce>
void run_float_pool(KernelContext& ctx, Reduce&& reduce) {
  const PoolShape shape(ctx, ctx.attrs<A>());
  with_float_type(ctx.output(0).dtype, [&](auto type) {
    using C = decltype(type);
    const Reader<C> x(ctx.input(0));
    Writer<C> out(ctx.output(0));
    Ticker ticker;
    for_each_window(shape.windows, [&](const PoolWindow& window) {
      for (int64_t plane = 0; plane < shape.planes; ++plane) {
        if (ticker.tick(4 * static_cast<int64_t>(window.sources.size()))) return;
        out[shape.out(plane, window.position)] = static_cast<C>(reduce(window, [&](int64_t source) {
          return static_cast<double>(x[shape.in(plane, source)]);
        }));
      }
    });
    out.commit();
  });
}

Status reference_avg_pool(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const bool padded = ctx.attrs<PoolAttrs>().count_include_pad;
  run_float_pool<PoolAttrs>(ctx, [&](const PoolWindow& window, auto&& value) {
    double sum = 0.0;
    for (const int64_t source : window.sources) sum += value(source);
    const auto count = padded ? window.padded_count : static_cast<double>(window.sources.size());
    return count == 0.0 ? 0.0 : sum / count;
  });
  return {};
}

Status reference_lp_pool(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const auto p = static_cast<double>(ctx.attrs<LpPoolAttrs>().p);
  run_float_pool<LpPoolAttrs>(ctx, [&](const PoolWindow& window, auto&& value) {
    double sum = 0.0;
    for (const int64_t source : window.sources) sum += std::pow(std::abs(value(source)), p);
    return std::pow(sum, 1.0 / p);
  });
  return {};
}

// reduce(count, value(i)) over all positions of a plane.
template <class C, class Reduce>
void run_global_pool(KernelContext& ctx, Reduce&& reduce) {
  const auto layout = ctx.attrs<GlobalPoolAttrs>().layout;
  const auto shape = channels_first_shape(layout, ctx.input(0).shape);
  const int64_t channels = shape[1], positions = count_elements(std::span(shape).subspan(2));
  const bool strided = layout == Layout::ChannelsLast;
  const Reader<C> x(ctx.input(0));
  Writer<C> out(ctx.output(0));
  Ticker ticker;
  for (size_t plane = 0; plane < out.size(); ++plane) {
    if (ticker.tick(positions)) return;
    const auto p = static_cast<int64_t>(plane);
    const C* first =
        x.data() + (strided ? p / channels * channels * positions + p % channels : p * positions);
    out[plane] = reduce(positions, [&](int64_t i) { return first[strided ? i * channels : i]; });
  }
  out.commit();
}

Status reference_global_avg_pool(KernelContext& ctx) {
  with_float_type(ctx.output(0).dtype, [&](auto type) {
    using C = decltype(type);
    run_global_pool<C>(ctx, [](int64_t count, auto&& value) {
      double sum = 0.0;
      for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(value(i));
      return static_cast<C>(sum / static_cast<double>(count));
    });
  });
  return {};
}

Status reference_global_max_pool(KernelContext& ctx) {
  with_compute_type(ctx.output(0).dtype, [&](auto type) {
    using C = decltype(type);
    run_global_pool<C>(ctx, [&](int64_t count, auto&& value) {
      C best = count == 0 ? lowest<C>(ctx.output(0).dtype) : value(0);
      for (int64_t i = 1; i < count; ++i) best = exceeds(value(i), best) ? value(i) : best;
      return best;
    });
  });
  return {};
}

}  // namespace

constexpr Rule kMaxPoolRules[] = {rule::numbers("x"),
                                  rule::min_rank("x", 3),
                                  rule::length("kernel", 1, rule::kAnyRank),
                                  rule::at_least("kernel", 1),
                                  rule::per_spatial("kernel", "x"),
                                  rule::at_least("strides", 1),
                                  rule::at_least("dilations", 1),
                                  rule::at_least("pads", 0),
                                  rule::per_spatial("strides", "x"),
                                  rule::per_spatial("dilations", "x"),
                                  rule::per_spatial("pads", "x", 2)};
EC_OP_DEF(MaxPool, .signature = "(x) -> (y, indices?)",
          .summary =
              "Largest element of each window, and on request its position in the input, "
              "counted in channels-first order.",
          .rules = kMaxPoolRules, .infer = infer_max_pool, .reference = reference_max_pool,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::FollowsInput);
constexpr Rule kAvgPoolRules[] = {rule::floats("x"),
                                  rule::min_rank("x", 3),
                                  rule::length("kernel", 1, rule::kAnyRank),
                                  rule::at_least("kernel", 1),
                                  rule::per_spatial("kernel", "x"),
                                  rule::at_least("strides", 1),
                                  rule::at_least("dilations", 1),
                                  rule::at_least("pads", 0),
                                  rule::per_spatial("strides", "x"),
                                  rule::per_spatial("dilations", "x"),
                                  rule::per_spatial("pads", "x", 2)};
EC_OP_DEF(AvgPool, .signature = "(x) -> y",
          .summary = "Mean of each window; padding counts as zeros or not at all.",
          .rules = kAvgPoolRules, .infer = infer_float_pool<PoolAttrs>,
          .reference = reference_avg_pool, .quantized = quantized::avg_pool,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::FollowsInput);
constexpr Rule kLpPoolRules[] = {rule::floats("x"),
                                 rule::min_rank("x", 3),
                                 rule::at_least("p", 1),
                                 rule::length("kernel", 1, rule::kAnyRank),
                                 rule::at_least("kernel", 1),
                                 rule::per_spatial("kernel", "x"),
                                 rule::at_least("strides", 1),
                                 rule::at_least("dilations", 1),
                                 rule::at_least("pads", 0),
                                 rule::per_spatial("strides", "x"),
                                 rule::per_spatial("dilations", "x"),
                                 rule::per_spatial("pads", "x", 2)};
EC_OP_DEF(LpPool, .signature = "(x) -> y", .summary = "p-norm of each window.",
          .rules = kLpPoolRules, .infer = infer_float_pool<LpPoolAttrs>,
          .reference = reference_lp_pool, .quant = QuantRule::Free,
          .layout = LayoutRule::FollowsInput);
constexpr Rule kGlobalAvgPoolRules[] = {rule::floats("x"), rule::min_rank("x", 2)};
EC_OP_DEF(GlobalAvgPool, .signature = "(x) -> y",
          .summary = "Mean over all spatial dimensions, which become 1.",
          .rules = kGlobalAvgPoolRules, .infer = infer_global_avg_pool,
          .reference = reference_global_avg_pool, .quantized = quantized::global_avg_pool,
          .quant = QuantRule::Free, .layout = LayoutRule::FollowsInput);
constexpr Rule kGlobalMaxPoolRules[] = {rule::numbers("x"), rule::min_rank("x", 2)};
EC_OP_DEF(GlobalMaxPool, .signature = "(x) -> y",
          .summary = "Largest element over all spatial dimensions, which become 1.",
          .rules = kGlobalMaxPoolRules, .infer = infer_global_pool,
          .reference = reference_global_max_pool, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::FollowsInput);

}  // namespace ec::ops
