// Sums, means and products of quantised elements over axes, and average pooling.
#include <bit>

#include "ops/convert.h"
#include "ops/move.h"
#include "ops/pool_windows.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/params.h"
#include "support/budget.h"

namespace ec::quantized {
namespace {

// By dimension: whether a reduction goes over it.
Result<std::vector<bool>> reduced_dimensions(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const auto& attrs = ctx.attrs<ReduceAttrs>();
  std::vector<bool> reduced(x.rank(), !ctx.has(1));
  if (ctx.has(1)) {
    const std::vector<int64_t> axes = read_ints(ctx, 1);
    if (axes.empty()) reduced.assign(x.rank(), !attrs.noop_with_empty_axes);
    for (const int64_t axis : axes) {
      const int64_t a = axis < 0 ? axis + static_cast<int64_t>(x.rank()) : axis;
      if (a < 0 || a >= static_cast<int64_t>(x.rank()))
        return ctx.fail("axis " + std::to_string(axis) + " is outside the input");
      reduced[static_cast<size_t>(a)] = true;
    }
  }
  return reduced;
}

// Calls f(index of an element, index of its result) for all elements of x in order.
template <class F>
Status for_each_reduced(KernelContext& ctx, const std::vector<bool>& reduced, F&& f) {
  const ConstView& x = ctx.input(0);
  std::vector<int64_t> strides(x.rank(), 0);
  int64_t step = 1;
  for (size_t d = x.rank(); d-- > 0;)
    if (!reduced[d]) {
      strides[d] = step;
      step *= x.shape[d];
    }
  if (step != ctx.output(0).count()) return ctx.fail("the result does not fit the axes");
  if (x.count() == 0) return {};
  if (x.rank() == 0) {
    f(size_t{0}, size_t{0});
    return {};
  }
  // Row by row, so that the innermost loop is a plain one.
  const auto run = static_cast<size_t>(x.shape.back()),
             step_in = static_cast<size_t>(strides.back());
  IndexWalker walker(x.shape.first(x.rank() - 1));
  size_t at = 0;
  do {
    const auto to = static_cast<size_t>(walker.offset(std::span(strides).first(x.rank() - 1)));
    for (size_t k = 0; k < run; ++k, ++at) f(at, to + k * step_in);
  } while (walker.next());
  return {};
}

Status sum_or_mean(KernelContext& ctx, const std::vector<bool>& reduced, bool mean) {
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  const DType dtype = ctx.input(0).dtype;
  if (!with_stored_type(dtype, [](auto) {}) || dtype != ctx.output(0).dtype)
    return unsupported_type(ctx, dtype);
  const MutableView& y = ctx.output(0);
  if (y.count() == 0) return {};
  const Reader<int64_t> x(ctx.input(0));
  std::vector<int64_t> sums(static_cast<size_t>(y.count()), 0);
  EC_CHECK_OK(for_each_reduced(ctx, reduced, [&](size_t from, size_t to) { sums[to] += x[from]; }));
  const int64_t count = ctx.input(0).count() / y.count();
  Multiplier m = quantize_multiplier(in.scale / out.scale);
  if (mean && count > 0) {
    // The division by the count goes into the factor, as far as its bits allow.
    const int bits = 63 - std::countl_zero(static_cast<uint64_t>(count));
    const int shift = std::min({bits, 32, 31 + m.shift});
    m.value = static_cast<int32_t>((int64_t{m.value} << std::max(shift, 0)) / count);
    m.shift -= shift;
  }
  const Range range = type_range(dtype);
  for (int64_t& sum : sums) {
    const auto centred = static_cast<int32_t>(static_cast<uint32_t>(sum - in.zero_point * count));
    sum = range.clamp(int64_t{multiply(centred, m)} + out.zero_point);
  }
  store<int64_t>(y, sums);
  return {};
}

template <class T>
void average_pixel(const T* x, int64_t channels, std::span<const int64_t> pixels, int64_t divisor,
                   T* y) {
  for (int64_t c = 0; c < channels; ++c) {
    int64_t sum = 0;
    for (const int64_t pixel : pixels) sum += x[pixel * channels + c];
    const int64_t half = divisor / 2;
    y[c] = saturate<T>((sum > 0 ? sum + half : sum - half) / divisor);
  }
}

}  // namespace

Status reduce_sum(KernelContext& ctx) {
  EC_TRY(const std::vector<bool> reduced, reduced_dimensions(ctx));
  return sum_or_mean(ctx, reduced, false);
}
Status reduce_mean(KernelContext& ctx) {
  EC_TRY(const std::vector<bool> reduced, reduced_dimensions(ctx));
  return sum_or_mean(ctx, reduced, true);
}

// The mean over all dimensions but batch and channels.
Status global_avg_pool(KernelContext& ctx) {
  const size_t rank = ctx.input(0).rank();
  const bool last = ctx.attrs<GlobalPoolAttrs>().layout == Layout::ChannelsLast;
  std::vector<bool> reduced(rank, true);
  reduced[0] = false;
  reduced[last ? rank - 1 : 1] = false;
  return sum_or_mean(ctx, reduced, true);
}

// After each factor the product is scaled back, so that it does not overflow.
Status reduce_prod(KernelContext& ctx) {
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  const DType dtype = ctx.input(0).dtype;
  if (dtype != DType::I8 && dtype != DType::I16) return unsupported_type(ctx, dtype);
  const MutableView& y = ctx.output(0);
  if (y.count() == 0 || ctx.input(0).count() == 0) return {};
  const int64_t count = ctx.input(0).count() / y.count();
  const Multiplier m =
      quantize_multiplier(in.scale / std::pow(out.scale, 1.0 / static_cast<double>(count)));
  const Reader<int64_t> x(ctx.input(0));
  std::vector<int64_t> products(static_cast<size_t>(y.count()), 0);
  std::vector<bool> begun(products.size(), false);
  EC_TRY(const std::vector<bool> reduced, reduced_dimensions(ctx));
  EC_CHECK_OK(for_each_reduced(ctx, reduced, [&](size_t from, size_t to) {
    const int64_t value = x[from] - in.zero_point;
    products[to] = begun[to] ? multiply_wide(products[to] * value, m) : value;
    begun[to] = true;
  }));
  const Range range = type_range(dtype);
  for (int64_t& p : products) p = range.clamp(int64_t{multiply_wide(p, m)} + out.zero_point);
  store<int64_t>(y, products);
  return {};
}

Status avg_pool(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<PoolAttrs>();
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  if (y.count() == 0) return {};
  const auto inputs = spatial_sizes(attrs.layout, x.shape);
  const auto windows = resolve_windows(window_spec(attrs, attrs.kernel), inputs);
  // Channels in front are images of one channel each.
  const bool last = attrs.layout == Layout::ChannelsLast;
  const int64_t channels = last ? x.shape.back() : 1, pixels_in = count_elements(inputs),
                pixels_out = count_elements(spatial_sizes(attrs.layout, y.shape)),
                images = x.shape[0] * (last ? 1 : x.shape[1]);
  const bool known = with_stored_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    Ticker ticker;
    for_each_window(windows, [&](const PoolWindow& window) {
      const auto taken = static_cast<int64_t>(window.sources.size());
      const int64_t divisor =
          attrs.count_include_pad ? static_cast<int64_t>(window.padded_count) : taken;
      if (ticker.tick(taken * channels * images)) return;
      for (int64_t n = 0; n < images && divisor > 0; ++n)
        average_pixel<T>(x.as<T>().data() + n * pixels_in * channels, channels, window.sources,
                         divisor, y.as<T>().data() + (n * pixels_out + window.position) * channels);
    });
  });
  if (!known) return unsupported_type(ctx, x.dtype);
  return {};
}

}  // namespace ec::quantized
