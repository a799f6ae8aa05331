// Normalisation with statistics per channel or group of channels: batch, instance and group
// normalisation, in either layout. Means and variances are taken in double.
#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"

namespace ec::ops {
namespace {

// A tensor around its channels: [n, c, s] channels first, [n, s, c] channels last.
struct ChannelView {
  int64_t n = 1, c = 1, s = 1;
  bool last = false;

  size_t offset(int64_t in, int64_t ic, int64_t is) const {
    return static_cast<size_t>(last ? (in * s + is) * c + ic : (in * c + ic) * s + is);
  }
};

ChannelView channel_view(std::span<const int64_t> shape, Layout layout) {
  ChannelView view;
  if (shape.empty()) return view;
  view.n = shape.front();
  if (shape.size() == 1) return view;  // one channel
  view.last = layout == Layout::ChannelsLast;
  view.c = view.last ? shape.back() : shape[1];
  view.s = count_elements(view.last ? shape.subspan(1, shape.size() - 2) : shape.subspan(2));
  if (count_elements(shape) == 0) view.n = 0;  // other sizes of an empty tensor may be huge
  return view;
}

// y = x * factor + offset for every element of channel c of sample n.
template <class C>
void scale_channel(const ChannelView& view, const C* x, C* y, int64_t n, int64_t c, double factor,
                   double offset) {
  const size_t first = view.offset(n, c, 0);
  const size_t step = view.last ? static_cast<size_t>(view.c) : 1;
  for (size_t i = 0; i < static_cast<size_t>(view.s); ++i) {
    const size_t at = first + i * step;
    y[at] = static_cast<C>(static_cast<double>(x[at]) * factor + offset);
  }
}

struct Moments {
  double mean = 0.0, variance = 0.0;
};

// Mean and population variance over samples [n0, n1) and channels [c0, c1): two passes, so that
// large means cost no digits.
template <class C>
Moments moments_of(const ChannelView& view, const C* x, int64_t n0, int64_t n1, int64_t c0,
                   int64_t c1) {
  const auto sum_of = [&](auto&& f) {
    double sum = 0.0;
    for (int64_t n = n0; n < n1; ++n)
      for (int64_t c = c0; c < c1; ++c)
        for (int64_t s = 0; s < view.s; ++s) sum += f(static_cast<double>(x[view.offset(n, c, s)]));
    return sum;
  };
  const auto count =
      static_cast<double>(n1 - n0) * static_cast<double>(c1 - c0) * static_cast<double>(view.s);
  const double mean = sum_of([](double v) { return v; }) / count;
  const double variance = sum_of([mean](double v) { return (v - mean) * (v - mean); }) / count;
  return {mean, variance};
}

// One parameter per channel in operands [1, last).
Status check_channels(const KernelContext& ctx, const ChannelView& view, size_t last) {
  for (size_t i = 1; i < last; ++i)
    if (ctx.input(i).count() != view.c)
      return ctx.fail("operand " + std::to_string(i) + " has " +
                      std::to_string(ctx.input(i).count()) + " values for " +
                      std::to_string(view.c) + " channels");
  return {};
}

// --- batch normalisation ------------------------------------------------------------------------
void store_running(const MutableView& out, std::span<const double> given,
                   std::span<const double> current, const BatchNormAttrs& attrs) {
  std::vector<double> running(given.begin(), given.end());
  const auto momentum = static_cast<double>(attrs.momentum);
  if (attrs.training)
    for (size_t c = 0; c < running.size(); ++c)
      running[c] = given[c] * momentum + current[c] * (1.0 - momentum);
  store<double>(out, running);
}

template <class C>
void batch_norm_as(KernelContext& ctx, const ChannelView& view) {
  const auto& attrs = ctx.attrs<BatchNormAttrs>();
  const Reader<C> x(ctx.input(0));
  const Reader<double> scale(ctx.input(1)), bias(ctx.input(2)), mean(ctx.input(3)),
      variance(ctx.input(4));
  std::vector<double> means(mean.values().begin(), mean.values().end());
  std::vector<double> variances(variance.values().begin(), variance.values().end());
  if (attrs.training)
    for (int64_t c = 0; c < view.c; ++c) {
      const Moments m = moments_of(view, x.data(), 0, view.n, c, c + 1);
      means[static_cast<size_t>(c)] = m.mean;
      variances[static_cast<size_t>(c)] = m.variance;
    }
  Writer<C> y(ctx.output(0));
  for (int64_t c = 0; c < view.c; ++c) {
    const auto i = static_cast<size_t>(c);
    const double factor = scale[i] / std::sqrt(variances[i] + static_cast<double>(attrs.epsilon));
    const double offset = bias[i] - means[i] * factor;
    for (int64_t n = 0; n < view.n; ++n)
      scale_channel(view, x.data(), y.data(), n, c, factor, offset);
  }
  y.commit();
  if (ctx.num_outputs() > 1) store_running(ctx.output(1), mean.values(), means, attrs);
  if (ctx.num_outputs() > 2) store_running(ctx.output(2), variance.values(), variances, attrs);
}

Status batch_norm(KernelContext& ctx) {
  const ChannelView view = channel_view(ctx.input(0).shape, ctx.attrs<BatchNormAttrs>().layout);
  EC_CHECK_OK(check_channels(ctx, view, 5));
  with_float_type(ctx.input(0).dtype, [&](auto c) { batch_norm_as<decltype(c)>(ctx, view); });
  return {};
}

// --- group and instance normalisation -----------------------------------------------------------
template <class C>
void group_norm_as(KernelContext& ctx, const ChannelView& view, int64_t groups, float epsilon) {
  const Reader<C> x(ctx.input(0));
  const Reader<double> scale(ctx.input(1)), bias(ctx.input(2));
  Writer<C> y(ctx.output(0));
  const int64_t width = view.c / groups;
  for (int64_t n = 0; n < view.n; ++n)
    for (int64_t g = 0; g < groups; ++g) {
      const Moments m = moments_of(view, x.data(), n, n + 1, g * width, (g + 1) * width);
      const double inverse = 1.0 / std::sqrt(m.variance + static_cast<double>(epsilon));
      for (int64_t c = g * width; c < (g + 1) * width; ++c) {
        const double factor = scale[static_cast<size_t>(c)] * inverse;
        const double offset = bias[static_cast<size_t>(c)] - m.mean * factor;
        scale_channel(view, x.data(), y.data(), n, c, factor, offset);
      }
    }
  y.commit();
}

Status group_norm(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<GroupNormAttrs>();
  const ChannelView view = channel_view(ctx.input(0).shape, attrs.layout);
  if (ctx.input(0).count() == 0) return {};
  EC_CHECK_OK(check_channels(ctx, view, 3));
  with_float_type(ctx.input(0).dtype, [&](auto c) {
    group_norm_as<decltype(c)>(ctx, view, attrs.groups, attrs.epsilon);
  });
  return {};
}

Status instance_norm(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<InstanceNormAttrs>();
  const ChannelView view = channel_view(ctx.input(0).shape, attrs.layout);
  if (ctx.input(0).count() == 0) return {};
  EC_CHECK_OK(check_channels(ctx, view, 3));
  with_float_type(ctx.input(0).dtype,
                  [&](auto c) { group_norm_as<decltype(c)>(ctx, view, view.c, attrs.epsilon); });
  return {};
}

// --- inference ----------------------------------------------------------------------------------
// The channel dimension of operand 0; unknown without a rank.
Result<Dim> channels_of(const InferContext& ctx, Layout layout, size_t min_rank) {
  if (!ctx.shape(0)) return Dim::unknown();
  const Shape& x = *ctx.shape(0);
  if (x.rank() < min_rank)
    return ctx.bad_shape("input " + operand_text(ctx, 0) + " needs at least " +
                         std::to_string(min_rank) + " dimensions");
  if (x.rank() == 1) return Dim(1);
  return layout == Layout::ChannelsLast ? x[x.rank() - 1] : x[1];
}

// Operands [first, last) must be float vectors of one value per channel. Sizes that only become
// known at run time are checked by the inference made there.
Status check_parameters(const InferContext& ctx, const Dim& channels, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    EC_CHECK_OK(check_type(ctx, i, kFloats));
    if (!ctx.shape(i)) continue;
    const Shape& shape = *ctx.shape(i);
    const bool fits = shape.rank() == 1 &&
                      (!shape[0].is_static() || !channels.is_static() || shape[0] == channels);
    if (!fits)
      return ctx.bad_shape("parameter " + operand_text(ctx, i) + " does not fit the " +
                           channels.text() + " channels of " + operand_text(ctx, 0));
  }
  return {};
}

Status infer_batch_norm(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  EC_TRY(const Dim channels, channels_of(ctx, ctx.attrs<BatchNormAttrs>().layout, 1));
  EC_CHECK_OK(check_parameters(ctx, channels, 1, 5));
  EC_CHECK_OK(infer_same_as_first(ctx));
  for (size_t i = 1; i < ctx.num_outputs(); ++i) ctx.set(i, ctx.dtype(i + 2), ctx.shape(i + 2));
  return {};
}

Status infer_instance_norm(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  EC_TRY(const Dim channels, channels_of(ctx, ctx.attrs<InstanceNormAttrs>().layout, 2));
  EC_CHECK_OK(check_parameters(ctx, channels, 1, 3));
  return infer_same_as_first(ctx);
}

Status infer_group_norm(InferContext& ctx) {
  const auto& attrs = ctx.attrs<GroupNormAttrs>();
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  EC_TRY(const Dim channels, channels_of(ctx, attrs.layout, 2));
  if (attrs.groups < 1 || (channels.is_static() && channels.size() % attrs.groups != 0))
    return ctx.bad_value(std::to_string(attrs.groups) + " groups do not divide the " +
                         channels.text() + " channels of " + operand_text(ctx, 0));
  EC_CHECK_OK(check_parameters(ctx, channels, 1, 3));
  return infer_same_as_first(ctx);
}

}  // namespace

constexpr Rule kBatchNormRules[] = {rule::min_rank("x", 1), rule::rank("scale", 1),
                                    rule::rank("bias", 1), rule::rank("mean", 1),
                                    rule::rank("var", 1)};
EC_OP_DEF(BatchNorm, .signature = "(x, scale, bias, mean, var) -> (y, running_mean?, running_var?)",
          .summary =
              "(x - mean) / sqrt(var + epsilon) * scale + bias per channel, with the given "
              "statistics or, when training, those of the batch.",
          .rules = kBatchNormRules, .infer = infer_batch_norm, .reference = batch_norm,
          .quant = QuantRule::Free, .layout = LayoutRule::FollowsInput);
constexpr Rule kInstanceNormRules[] = {rule::min_rank("x", 2), rule::rank("scale", 1),
                                       rule::rank("bias", 1)};
EC_OP_DEF(InstanceNorm, .signature = "(x, scale, bias) -> y",
          .summary =
              "Normalises each channel of each sample to mean 0 and variance 1, then scales "
              "and shifts it.",
          .rules = kInstanceNormRules, .infer = infer_instance_norm, .reference = instance_norm,
          .quant = QuantRule::Free, .layout = LayoutRule::FollowsInput);
constexpr Rule kGroupNormRules[] = {rule::min_rank("x", 2), rule::rank("scale", 1),
                                    rule::rank("bias", 1), rule::at_least("groups", 1)};
EC_OP_DEF(GroupNorm, .signature = "(x, scale, bias) -> y",
          .summary =
              "Normalises each group of channels of each sample to mean 0 and variance 1, "
              "then scales and shifts each channel.",
          .rules = kGroupNormRules, .infer = infer_group_norm, .reference = group_norm,
          .quant = QuantRule::Free, .layout = LayoutRule::FollowsInput);

}  // namespace ec::ops
