// Convolution and transposed convolution on integers, and on floats with integer weights.
#include "ops/convert.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/weighted_sum.h"
#include "ops/window.h"
#include "support/budget.h"
#include "support/rounding.h"

namespace ec::quantized {
namespace {

// Sizes with channels per group, whatever the layout.
struct Geometry {
  Layout layout;
  int64_t batch, groups, in, out;
  std::vector<int64_t> inputs, outputs, kernel;

  int64_t taps() const { return count_elements(kernel); }
  int64_t in_pixels() const { return count_elements(inputs); }
  int64_t out_pixels() const { return count_elements(outputs); }
};

Geometry geometry_of(const KernelContext& ctx, Layout layout, int64_t groups) {
  const auto x = ctx.input(0).shape, y = ctx.output(0).shape;
  const size_t channel = channel_axis(layout, x.size());
  return {layout,
          x[0],
          groups,
          x[channel] / groups,
          y[channel] / groups,
          spatial_sizes(layout, x),
          spatial_sizes(layout, y),
          spatial_sizes(layout, ctx.input(1).shape)};
}

// [outer, a, b] -> [outer, b, a].
std::vector<int16_t> swap_inner(const std::vector<int16_t>& v, int64_t outer, int64_t a,
                                int64_t b) {
  std::vector<int16_t> out(v.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        out[static_cast<size_t>((o * b + j) * a + i)] = v[static_cast<size_t>((o * a + i) * b + j)];
  return out;
}

// Weights as [output channel, tap, input channel].
std::vector<int16_t> conv_rows(const Geometry& g, std::vector<int16_t> w) {
  if (g.layout == Layout::ChannelsLast) return w;
  return swap_inner(w, g.groups * g.out, g.in, g.taps());
}

// From [input channel, tap, output channel of the group] or [input channel, output channel, tap].
std::vector<int16_t> transposed_rows(const Geometry& g, const std::vector<int16_t>& w) {
  std::vector<int16_t> rows(w.size());
  const int64_t taps = g.taps();
  for (int64_t group = 0; group < g.groups; ++group)
    for (int64_t c = 0; c < g.in; ++c)
      for (int64_t o = 0; o < g.out; ++o)
        for (int64_t k = 0; k < taps; ++k) {
          const int64_t from = g.layout == Layout::ChannelsLast ? k * g.out + o : o * taps + k;
          rows[static_cast<size_t>(((group * g.out + o) * taps + k) * g.in + c)] =
              w[static_cast<size_t>((group * g.in + c) * taps * g.out + from)];
        }
  return rows;
}

std::vector<int16_t> channels_last(const Geometry& g, std::vector<int16_t> x) {
  if (g.layout == Layout::ChannelsLast) return x;
  return swap_inner(x, g.batch, g.groups * g.in, g.in_pixels());
}

struct Source {
  int64_t pixel, tap;
};

// Input pixels under the window of output pixel `at`, by source(dimension, output, tap) or -1.
template <class F>
void find_sources(const Geometry& g, int64_t at, F&& source, std::vector<Source>& out) {
  out.clear();
  std::vector<int64_t> position(g.outputs.size());
  for (size_t d = position.size(); d-- > 0;) {
    position[d] = at % g.outputs[d];
    at /= g.outputs[d];
  }
  if (g.taps() == 0) return;
  IndexWalker walker(g.kernel);
  int64_t tap = 0;
  do {
    int64_t pixel = 0;
    for (size_t d = 0; d < position.size() && pixel >= 0; ++d) {
      const int64_t coordinate = source(d, position[d], walker.index()[d]);
      pixel = coordinate < 0 ? -1 : pixel * g.inputs[d] + coordinate;
    }
    if (pixel >= 0) out.push_back({pixel, tap});
    ++tap;
  } while (walker.next());
}

// Calls finish(batch, output pixel, output channel, sum) for every output element. x holds
// [batch, pixel, channel], w [output channel, tap, input channel].
template <class Acc, class F, class Finish>
void convolve(const Geometry& g, const std::vector<int16_t>& x, const std::vector<int16_t>& w,
              F&& source, Finish&& finish) {
  std::vector<Source> sources;
  const int64_t channels = g.groups * g.in, taps = g.taps();
  Ticker ticker;
  for (int64_t p = 0; p < g.out_pixels(); ++p) {
    find_sources(g, p, source, sources);
    for (int64_t n = 0; n < g.batch; ++n) {
      if (ticker.tick(taps * (8 + g.groups * g.out * g.in))) return;
      const int16_t* image = x.data() + n * g.in_pixels() * channels;
      for (int64_t o = 0; o < g.groups * g.out; ++o) {
        const int16_t* row = w.data() + o * taps * g.in;
        const int64_t first = o / g.out * g.in;
        std::make_unsigned_t<Acc> sum = 0;
        for (const Source& s : sources)
          sum += static_cast<std::make_unsigned_t<Acc>>(
              dot<Acc>(image + s.pixel * channels + first, row + s.tap * g.in, g.in));
        finish(n, p, o, static_cast<Acc>(sum));
      }
    }
  }
}

// Where an output element stands in its layout.
size_t output_index(const Geometry& g, int64_t n, int64_t pixel, int64_t channel) {
  const int64_t channels = g.groups * g.out, pixels = g.out_pixels();
  return static_cast<size_t>(g.layout == Layout::ChannelsLast
                                 ? (n * pixels + pixel) * channels + channel
                                 : (n * channels + channel) * pixels + pixel);
}

template <class A>
StageRequest stage_request(const A& attrs, const Geometry& g, int32_t axis) {
  return {axis, g.groups * g.out, attrs.activation, attrs.act_alpha, attrs.act_beta};
}

template <class A, class F>
Status run_integer(KernelContext& ctx, const A& attrs, const Geometry& g, int32_t axis,
                   const std::vector<int16_t>& rows, F&& source) {
  EC_TRY(const OutputStage stage, output_stage(ctx, stage_request(attrs, g, axis)));
  EC_TRY(const Params in, input_params(ctx, 0));
  const std::vector<int16_t> x = channels_last(g, centred(ctx.input(0), in.zero_point));
  with_stored_type(ctx.output(0).dtype, [&](auto type) {
    using T = decltype(type);
    T* y = ctx.output(0).as<T>().data();
    const auto finish = [&](int64_t n, int64_t p, int64_t o, int64_t sum) {
      const auto channel = static_cast<size_t>(o);
      y[output_index(g, n, p, o)] =
          static_cast<T>(stage.finish(wrapping_add(sum, stage.start(channel)), channel));
    };
    if (stage.wide)
      convolve<int64_t>(g, x, rows, source, finish);
    else
      convolve<int32_t>(g, x, rows, source, finish);
  });
  return {};
}

// Each image is quantised as a whole: with a zero point where the weights have scales per channel
// or the convolution is depthwise, else symmetrically.
template <class A, class F>
Status run_hybrid(KernelContext& ctx, const A& attrs, const Geometry& g, int32_t axis,
                  const std::vector<int16_t>& rows, F&& source) {
  EC_TRY(const auto scales, channel_scales(ctx, 1, axis, g.groups * g.out));
  EC_TRY(const FloatRange range,
         float_activation_range(ctx, attrs.activation, attrs.act_alpha, attrs.act_beta));
  const bool asymmetric = scales.size() > 1 || g.groups > 1;
  const Reader<float> x(ctx.input(0));
  std::vector<int16_t> q(x.size());
  std::vector<QuantizedRow> images;
  const size_t image = g.batch > 0 ? x.size() / static_cast<size_t>(g.batch) : 0;
  for (size_t n = 0; n < static_cast<size_t>(g.batch); ++n) {
    const auto values = x.values().subspan(n * image, image);
    images.push_back(asymmetric ? quantize_asymmetric(values, q.data() + n * image)
                                : quantize_symmetric(values, q.data() + n * image));
  }
  std::vector<float> bias;
  if (ctx.has(2)) {
    bias.resize(static_cast<size_t>(ctx.input(2).count()));
    load<float>(ctx.input(2), bias);
    if (bias.size() != static_cast<size_t>(g.groups * g.out))
      return ctx.fail("the bias does not fit the channels");
  }
  q = channels_last(g, std::move(q));
  Writer<float> y(ctx.output(0));
  convolve<int32_t>(g, q, rows, source, [&](int64_t n, int64_t p, int64_t o, int32_t sum) {
    const auto channel = static_cast<size_t>(o);
    const float scale = scales[scales.size() == 1 ? 0 : channel];
    const float step = images[static_cast<size_t>(n)].scale;
    float value = asymmetric ? static_cast<float>(sum) * scale * step
                             : static_cast<float>(sum) * (step * scale);
    if (!bias.empty()) value += bias[channel];
    y[output_index(g, n, p, o)] = std::min(std::max(value, range.low), range.high);
  });
  y.commit();
  return {};
}

template <class A, class F>
Status run(KernelContext& ctx, const A& attrs, const Geometry& g, int32_t axis,
           const std::vector<int16_t>& rows, F&& source) {
  if (is_hybrid(ctx)) return run_hybrid(ctx, attrs, g, axis, rows, source);
  return run_integer(ctx, attrs, g, axis, rows, source);
}

}  // namespace

Status conv(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const auto& attrs = ctx.attrs<ConvAttrs>();
  if (ctx.has(3)) return ctx.fail("a fused residual has no integer form");
  if (is_float(ctx.input(1).dtype)) return ctx.op().def().reference(ctx);
  const Geometry g = geometry_of(ctx, attrs.layout, attrs.groups);
  EC_TRY(const int32_t zero_point, weight_zero_point(ctx, 1));
  const std::vector<int16_t> rows = conv_rows(g, centred(ctx.input(1), zero_point));
  const auto windows = resolve_windows(window_spec(attrs, g.kernel), g.inputs);
  return run(ctx, attrs, g, 0, rows, [&](size_t d, int64_t o, int64_t k) {
    const WindowDim& window = windows[d];
    const int64_t at = o * window.stride - window.pad_begin + k * window.dilation;
    return at < window.input ? at : -1;
  });
}

Status conv_transpose(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const auto& attrs = ctx.attrs<ConvTransposeAttrs>();
  if (is_float(ctx.input(1).dtype)) return ctx.op().def().reference(ctx);
  const Geometry g = geometry_of(ctx, attrs.layout, attrs.groups);
  EC_TRY(const int32_t zero_point, weight_zero_point(ctx, 1));
  const std::vector<int16_t> rows = transposed_rows(g, centred(ctx.input(1), zero_point));
  const WindowSpec spec = window_spec(attrs, g.kernel);
  std::vector<TransposedDim> windows;
  for (size_t d = 0; d < g.inputs.size(); ++d)
    windows.push_back(resolve_transposed(attrs, spec, d, g.inputs[d]));
  const size_t rank = ctx.input(1).rank();
  const auto axis = static_cast<int32_t>(channel_axis(attrs.layout, rank));
  return run(ctx, attrs, g, axis, rows, [&](size_t d, int64_t o, int64_t k) -> int64_t {
    const TransposedDim& window = windows[d];
    const int64_t at = o + window.pad_begin - k * window.dilation;
    if (at < 0 || at % window.stride != 0) return -1;
    return at / window.stride < window.input ? at / window.stride : -1;
  });
}

}  // namespace ec::quantized
