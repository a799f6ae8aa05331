// Convolution and transposed convolution of any spatial rank, in both layouts.
#include <optional>

#include "ops/conv_core.h"
#include "ops/define.h"
#include "ops/quantized/kernels.h"
#include "ops/window.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// --- inference -----------------------------------------------------------------------------------

Status check_types(const InferContext& ctx, Activation activation) {
  if (ctx.dtype(0) == DType::Bool)
    return ctx.bad_type("a convolution needs numbers, not " + operand_text(ctx, 0));
  if (carries_parameters(ctx)) return {};
  for (size_t i = 1; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && ctx.dtype(i) != ctx.dtype(0))
      return ctx.bad_type("operands have different element types: " + operand_text(ctx, 0) +
                          " and " + operand_text(ctx, i));
  if (activation != Activation::None && !is_float(ctx.dtype(0)))
    return ctx.bad_type("a fused activation needs a float type, not " + operand_text(ctx, 0));
  return {};
}

// Rank of the image from whatever operand tells it; empty when none does.
Result<std::optional<size_t>> image_rank(const InferContext& ctx) {
  std::optional<size_t> rank;
  for (size_t i = 0; i < 2; ++i) {
    if (!ctx.shape(i)) continue;
    const size_t own = ctx.shape(i)->rank();
    if (own < 3 || (rank && *rank != own))
      return ctx.bad_shape("input " + operand_text(ctx, 0) + " and weights " +
                           operand_text(ctx, 1) + " are not an image and its filters");
    rank = own;
  }
  return rank;
}

Status check_groups(const InferContext& ctx, int64_t groups, const Dim& channels) {
  if (groups < 1 || (channels.is_static() && channels.size() % groups != 0))
    return ctx.bad_value(std::to_string(groups) + " groups do not divide " + channels.text() +
                         " channels of " + operand_text(ctx, 0) + " with weights " +
                         operand_text(ctx, 1));
  return {};
}

Status check_channels(const InferContext& ctx, const Dim& channels, const Dim& expected) {
  const bool empty = (channels.is_static() && channels.size() == 0) ||
                     (expected.is_static() && expected.size() == 0);
  const bool differ = channels.is_static() && expected.is_static() && channels != expected;
  if (empty || differ)
    return ctx.bad_shape("input " + operand_text(ctx, 0) + " has " + channels.text() +
                         " channels, weights " + operand_text(ctx, 1) + " need " + expected.text());
  return {};
}

Status check_bias(const InferContext& ctx, const Dim& channels) {
  if (!ctx.has(2) || !ctx.shape(2)) return {};
  const Shape& bias = *ctx.shape(2);
  if (bias.rank() != 1 || (bias[0].is_static() && channels.is_static() && bias[0] != channels))
    return ctx.bad_shape("bias " + operand_text(ctx, 2) + " does not fit " + channels.text() +
                         " output channels");
  return {};
}

Dim times(const Dim& a, int64_t factor) {
  if (factor == 1) return a;
  if (!a.is_static()) return Dim::unknown();
  const auto product = checked_mul(a.size(), factor);
  return product ? Dim(*product) : Dim::unknown();
}

// Spatial sizes of the filters; empty when one is open.
std::optional<std::vector<int64_t>> kernel_sizes(const InferContext& ctx, Layout layout) {
  if (!ctx.shape(1)) return std::nullopt;
  const Shape& w = *ctx.shape(1);
  std::vector<int64_t> kernel;
  for (size_t d = 0; d + 2 < w.rank(); ++d) {
    const Dim& dim = w[spatial_axis(layout, d)];
    if (!dim.is_static()) return std::nullopt;
    kernel.push_back(dim.size());
  }
  return kernel;
}

Status check_residual(const InferContext& ctx, const Shape& out) {
  if (!ctx.has(3) || !ctx.shape(3)) return {};
  const Shape& residual = *ctx.shape(3);
  bool fits = residual.rank() == out.rank();
  for (size_t d = 0; fits && d < out.rank(); ++d)
    fits = !residual[d].is_static() || !out[d].is_static() || residual[d] == out[d];
  if (!fits)
    return ctx.bad_shape("residual " + operand_text(ctx, 3) + " differs from the result " +
                         out.text());
  return {};
}

Dim dim_or_unknown(const std::optional<Shape>& shape, size_t axis) {
  return shape ? (*shape)[axis] : Dim::unknown();
}

Status infer_conv(InferContext& ctx) {
  const auto& attrs = ctx.attrs<ConvAttrs>();
  EC_CHECK_OK(check_types(ctx, attrs.activation));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  EC_TRY(const std::optional<size_t> rank, image_rank(ctx));
  if (!rank) return {};
  const size_t channel = channel_axis(attrs.layout, *rank);
  const Dim in_channels = dim_or_unknown(ctx.shape(0), channel);
  const Dim out_channels = dim_or_unknown(ctx.shape(1), 0);
  EC_CHECK_OK(check_groups(ctx, attrs.groups, in_channels));
  EC_CHECK_OK(check_groups(ctx, attrs.groups, out_channels));
  EC_CHECK_OK(
      check_channels(ctx, in_channels, times(dim_or_unknown(ctx.shape(1), channel), attrs.groups)));
  EC_CHECK_OK(check_bias(ctx, out_channels));
  Shape out(std::vector<Dim>(*rank, Dim::unknown()));
  out[0] = dim_or_unknown(ctx.shape(0), 0);
  out[channel] = out_channels;
  if (const auto kernel = kernel_sizes(ctx, attrs.layout)) {
    const WindowSpec spec = window_spec(attrs, *kernel);
    EC_CHECK_OK(check_window(ctx, spec));
    for (size_t d = 0; d < spec.rank(); ++d) {
      const size_t axis = spatial_axis(attrs.layout, d);
      EC_TRY(out[axis], infer_window(ctx, spec, d, dim_or_unknown(ctx.shape(0), axis)));
    }
  }
  EC_CHECK_OK(check_residual(ctx, out));
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status infer_conv_transpose(InferContext& ctx) {
  const auto& attrs = ctx.attrs<ConvTransposeAttrs>();
  EC_CHECK_OK(check_types(ctx, attrs.activation));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  EC_TRY(const std::optional<size_t> rank, image_rank(ctx));
  if (!rank) return {};
  const size_t channel = channel_axis(attrs.layout, *rank);
  const Dim in_channels = dim_or_unknown(ctx.shape(0), channel);
  EC_CHECK_OK(check_groups(ctx, attrs.groups, in_channels));
  EC_CHECK_OK(check_groups(ctx, attrs.groups, dim_or_unknown(ctx.shape(1), 0)));
  EC_CHECK_OK(check_channels(ctx, in_channels, dim_or_unknown(ctx.shape(1), 0)));
  const Dim out_channels = times(dim_or_unknown(ctx.shape(1), channel), attrs.groups);
  EC_CHECK_OK(check_bias(ctx, out_channels));
  Shape out(std::vector<Dim>(*rank, Dim::unknown()));
  out[0] = dim_or_unknown(ctx.shape(0), 0);
  out[channel] = out_channels;
  if (const auto kernel = kernel_sizes(ctx, attrs.layout)) {
    const WindowSpec spec = window_spec(attrs, *kernel);
    EC_CHECK_OK(check_transposed_window(ctx, attrs, spec));
    for (size_t d = 0; d < spec.rank(); ++d) {
      const size_t axis = spatial_axis(attrs.layout, d);
      EC_TRY(out[axis], infer_transposed(ctx, attrs, spec, d, dim_or_unknown(ctx.shape(0), axis)));
    }
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// --- kernels -------------------------------------------------------------------------------------

// Fills the table of sources by asking each dimension: source(d, output, tap) is the input
// coordinate or -1.
template <class Source>
void fill_sources(std::span<const int64_t> inputs, std::span<const int64_t> outputs,
                  std::span<const int64_t> kernel, int64_t first, int64_t count, int64_t* table,
                  Source&& source) {
  std::vector<int64_t> position(outputs.size()), tap(outputs.size());
  Ticker ticker;
  for (int64_t j = 0; j < count; ++j) {
    if (ticker.tick(count_elements(kernel))) return;
    int64_t rest = first + j;
    for (size_t d = outputs.size(); d-- > 0;) {
      position[d] = rest % outputs[d];
      rest /= outputs[d];
    }
    IndexWalker walker(kernel);
    int64_t* entry = table + j;
    do {
      int64_t at = 0;
      for (size_t d = 0; d < outputs.size() && at >= 0; ++d) {
        const int64_t coordinate = source(d, position[d], walker.index()[d]);
        at = coordinate < 0 ? -1 : at * inputs[d] + coordinate;
      }
      *entry = at;
      entry += kProductBlock;
    } while (walker.next());
  }
}

ConvShape conv_shape(KernelContext& ctx, Layout layout, int64_t groups) {
  const ConstView& x = ctx.input(0);
  const ConstView out = ctx.output(0);
  const size_t channel = channel_axis(layout, x.rank());
  ConvShape s;
  s.layout = layout;
  s.batch = x.shape[0];
  s.groups = groups;
  s.in_channels = x.shape[channel] / groups;
  s.out_channels = out.shape[channel] / groups;
  s.inputs = count_elements(spatial_sizes(layout, x.shape));
  s.outputs = count_elements(spatial_sizes(layout, out.shape));
  s.taps = count_elements(spatial_sizes(layout, ctx.input(1).shape));
  return s;
}

template <class C>
void run_conv(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ConvAttrs>();
  const ConvShape shape = conv_shape(ctx, attrs.layout, attrs.groups);
  const auto inputs = spatial_sizes(attrs.layout, ctx.input(0).shape);
  const auto outputs = spatial_sizes(attrs.layout, ctx.output(0).shape);
  const auto kernel = spatial_sizes(attrs.layout, ctx.input(1).shape);
  const auto windows = resolve_windows(window_spec(attrs, kernel), inputs);
  const Reader<C> x(ctx.input(0)), w(ctx.input(1));
  std::optional<Reader<C>> bias, residual;
  if (ctx.has(2)) bias.emplace(ctx.input(2));
  if (ctx.has(3)) residual.emplace(ctx.input(3));
  Writer<C> out(ctx.output(0));
  const ConvOperands<C> operands{x.data(), w.data(), bias ? bias->data() : nullptr,
                                 residual ? residual->data() : nullptr, out.data()};
  convolve<C>(shape, operands, {attrs.activation, double{attrs.act_alpha}, double{attrs.act_beta}},
              [&](int64_t first, int64_t count, int64_t* table) {
                fill_sources(inputs, outputs, kernel, first, count, table,
                             [&](size_t d, int64_t o, int64_t k) {
                               const WindowDim& window = windows[d];
                               const int64_t at =
                                   o * window.stride - window.pad_begin + k * window.dilation;
                               return at < window.input ? at : -1;
                             });
              });
  out.commit();
}

Status reference_conv(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const auto& attrs = ctx.attrs<ConvAttrs>();
  EC_CHECK_OK(check_room(convolve_scratch_bytes(conv_shape(ctx, attrs.layout, attrs.groups))));
  with_compute_type(ctx.output(0).dtype, [&](auto type) { run_conv<decltype(type)>(ctx); });
  return {};
}

// Weights [I, O/g, k...] (or [I, k..., O/g]) as one row per output channel.
template <class C>
std::vector<C> rows_of_transposed(std::span<const C> w, const ConvShape& s) {
  const bool first_layout = s.layout == Layout::ChannelsFirst;
  const ImageIndex stored{s.out_channels, s.taps, first_layout};
  std::vector<C> rows(w.size());
  auto target = rows.begin();
  for (int64_t group = 0; group < s.groups; ++group)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t k = 0; k < s.in_channels * s.taps; ++k) {
        const int64_t channel = first_layout ? k / s.taps : k % s.in_channels;
        const int64_t tap = first_layout ? k % s.taps : k / s.in_channels;
        *target++ = w[static_cast<size_t>(stored(group * s.in_channels + channel, o, tap))];
      }
  return rows;
}

template <class C>
void run_conv_transpose(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ConvTransposeAttrs>();
  const ConvShape shape = conv_shape(ctx, attrs.layout, attrs.groups);
  const auto inputs = spatial_sizes(attrs.layout, ctx.input(0).shape);
  const auto outputs = spatial_sizes(attrs.layout, ctx.output(0).shape);
  const auto kernel = spatial_sizes(attrs.layout, ctx.input(1).shape);
  const WindowSpec spec = window_spec(attrs, kernel);
  std::vector<TransposedDim> windows;
  for (size_t d = 0; d < inputs.size(); ++d)
    windows.push_back(resolve_transposed(attrs, spec, d, inputs[d]));
  const Reader<C> x(ctx.input(0)), w(ctx.input(1));
  const std::vector<C> rows = rows_of_transposed(w.values(), shape);
  std::optional<Reader<C>> bias;
  if (ctx.has(2)) bias.emplace(ctx.input(2));
  Writer<C> out(ctx.output(0));
  const ConvOperands<C> operands{x.data(), rows.data(), bias ? bias->data() : nullptr, nullptr,
                                 out.data()};
  convolve<C>(shape, operands, {attrs.activation, double{attrs.act_alpha}, double{attrs.act_beta}},
              [&](int64_t first, int64_t count, int64_t* table) {
                fill_sources(inputs, outputs, kernel, first, count, table,
                             [&](size_t d, int64_t o, int64_t k) -> int64_t {
                               const TransposedDim& window = windows[d];
                               const int64_t at = o + window.pad_begin - k * window.dilation;
                               if (at < 0 || at % window.stride != 0) return -1;
                               return at / window.stride < window.input ? at / window.stride : -1;
                             });
              });
  out.commit();
}

Status reference_conv_transpose(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const auto& attrs = ctx.attrs<ConvTransposeAttrs>();
  EC_CHECK_OK(check_room(convolve_scratch_bytes(conv_shape(ctx, attrs.layout, attrs.groups))));
  with_compute_type(ctx.output(0).dtype,
                    [&](auto type) { run_conv_transpose<decltype(type)>(ctx); });
  return {};
}

}  // namespace

constexpr Rule kConvRules[] = {rule::min_rank("x", 3),
                               rule::same_rank("w", "x"),
                               rule::rank("bias", 1),
                               rule::same_rank("residual", "x"),
                               rule::numbers("x"),
                               rule::at_least("groups", 1),
                               rule::at_least("strides", 1),
                               rule::at_least("dilations", 1),
                               rule::at_least("pads", 0),
                               rule::per_spatial("strides", "x"),
                               rule::per_spatial("dilations", "x"),
                               rule::per_spatial("pads", "x", 2)};
EC_OP_DEF(Conv, .signature = "(x, w, bias?, residual?) -> y",
          .summary =
              "Convolution with groups, strides, dilations and pads, of any spatial rank: "
              "activation(x * w + bias + residual).",
          .rules = kConvRules, .infer = infer_conv, .reference = reference_conv,
          .quantized = quantized::conv, .quant = QuantRule::WeightedSum,
          .layout = LayoutRule::FollowsInput);
constexpr Rule kConvTransposeRules[] = {rule::min_rank("x", 3),
                                        rule::same_rank("w", "x"),
                                        rule::rank("bias", 1),
                                        rule::numbers("x"),
                                        rule::at_least("groups", 1),
                                        rule::at_least("strides", 1),
                                        rule::at_least("dilations", 1),
                                        rule::at_least("pads", 0),
                                        rule::per_spatial("strides", "x"),
                                        rule::per_spatial("dilations", "x"),
                                        rule::per_spatial("pads", "x", 2),
                                        rule::at_least("output_padding", 0),
                                        rule::at_least("output_sizes", 1),
                                        rule::per_spatial("output_padding", "x"),
                                        rule::per_spatial("output_sizes", "x")};
EC_OP_DEF(ConvTranspose, .signature = "(x, w, bias?) -> y",
          .summary =
              "Transposed convolution: every input element adds its scaled filter to the output; "
              "then bias and activation.",
          .rules = kConvTransposeRules, .infer = infer_conv_transpose,
          .reference = reference_conv_transpose, .quantized = quantized::conv_transpose,
          .quant = QuantRule::WeightedSum, .layout = LayoutRule::FollowsInput);

}  // namespace ec::ops
