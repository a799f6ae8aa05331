// Deformable convolution of images: every kernel tap reads at an offset of its own, by bilinear
// interpolation, and may be weighted by a mask.
#include <cmath>
#include <optional>

#include "ops/define.h"
#include "ops/matrix_product.h"
#include "ops/window.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

enum : size_t { kX, kW, kOffset, kBias, kMask };

Status check_operands(const InferContext& ctx) {
  if (!is_float(ctx.dtype(kX)))
    return ctx.bad_type("deform_conv needs a float type, not " + operand_text(ctx, kX));
  for (const size_t i : {kW, kOffset, kBias, kMask}) {
    if (!ctx.has(i)) continue;
    if (ctx.dtype(i) != ctx.dtype(kX))
      return ctx.bad_type("operands have different element types: " + operand_text(ctx, kX) +
                          " and " + operand_text(ctx, i));
    if (ctx.shape(i) && ctx.shape(i)->rank() != (i == kBias ? 1 : 4))
      return ctx.bad_shape("deform_conv works on images; operand " + std::to_string(i) + " is " +
                           operand_text(ctx, i));
  }
  if (ctx.shape(kX) && ctx.shape(kX)->rank() != 4)
    return ctx.bad_shape("deform_conv needs an image [N, C, H, W], not " + operand_text(ctx, kX));
  return {};
}

Status check_dim(const InferContext& ctx, size_t operand, size_t axis, const Dim& expected) {
  if (!ctx.has(operand) || !ctx.shape(operand)) return {};
  const Dim& dim = (*ctx.shape(operand))[axis];
  if (dim.is_static() && expected.is_static() && dim != expected)
    return ctx.bad_shape("dimension " + std::to_string(axis) + " of " + operand_text(ctx, operand) +
                         " should be " + expected.text());
  return {};
}

Dim scaled(const Dim& dim, int64_t factor) {
  const auto product = dim.is_static() ? checked_mul(dim.size(), factor) : std::nullopt;
  return product ? Dim(*product) : Dim::unknown();
}

Status check_groups(const InferContext& ctx, int64_t groups, const Dim& channels,
                    const char* what) {
  if (groups < 1 || groups > (int64_t{1} << 30) ||
      (channels.is_static() && (channels.size() == 0 || channels.size() % groups != 0)))
    return ctx.bad_value(std::to_string(groups) + " " + what + " do not divide " + channels.text() +
                         " channels of " + operand_text(ctx, kX) + " with weights " +
                         operand_text(ctx, kW));
  return {};
}

Status infer_deform_conv(InferContext& ctx) {
  const auto& attrs = ctx.attrs<DeformConvAttrs>();
  EC_CHECK_OK(check_operands(ctx));
  Shape out(std::vector<Dim>(4, Dim::unknown()));
  const auto& x = ctx.shape(kX);
  const auto& w = ctx.shape(kW);
  if (x) out[0] = (*x)[0];
  if (w) out[1] = (*w)[0];
  EC_CHECK_OK(check_groups(ctx, attrs.groups, x ? (*x)[1] : Dim::unknown(), "groups"));
  EC_CHECK_OK(
      check_groups(ctx, attrs.offset_groups, x ? (*x)[1] : Dim::unknown(), "offset groups"));
  if (out[1].is_static() && out[1].size() % attrs.groups != 0)
    return ctx.bad_value(std::to_string(attrs.groups) + " groups do not divide " + out[1].text() +
                         " filters");
  if (w) EC_CHECK_OK(check_dim(ctx, kX, 1, scaled((*w)[1], attrs.groups)));
  EC_CHECK_OK(check_dim(ctx, kBias, 0, out[1]));
  if (x && w && (*w)[2].is_static() && (*w)[3].is_static()) {
    const int64_t kernel[] = {(*w)[2].size(), (*w)[3].size()};
    const WindowSpec spec = window_spec(attrs, kernel);
    EC_CHECK_OK(check_window(ctx, spec));
    for (size_t d = 0; d < 2; ++d) {
      EC_TRY(out[d + 2], infer_window(ctx, spec, d, (*x)[d + 2]));
      EC_CHECK_OK(check_dim(ctx, kOffset, d + 2, out[d + 2]));
      EC_CHECK_OK(check_dim(ctx, kMask, d + 2, out[d + 2]));
    }
    const Dim taps = scaled(scaled(Dim(kernel[0]), kernel[1]), attrs.offset_groups);
    EC_CHECK_OK(check_dim(ctx, kOffset, 1, scaled(taps, 2)));
    EC_CHECK_OK(check_dim(ctx, kMask, 1, taps));
  }
  EC_CHECK_OK(check_dim(ctx, kOffset, 0, out[0]));
  EC_CHECK_OK(check_dim(ctx, kMask, 0, out[0]));
  ctx.set(0, ctx.dtype(kX), std::move(out));
  return {};
}

// Bilinear value with zeros outside the plane.
template <class C>
C sample(const C* plane, int64_t height, int64_t width, C y, C x) {
  if (!(y > C{-1} && x > C{-1} && y < static_cast<C>(height) && x < static_cast<C>(width)))
    return C{};
  const auto y0 = static_cast<int64_t>(std::floor(y)), x0 = static_cast<int64_t>(std::floor(x));
  const C fy = y - static_cast<C>(y0), fx = x - static_cast<C>(x0);
  const auto at = [&](int64_t r, int64_t c) {
    return r < 0 || c < 0 || r >= height || c >= width ? C{} : plane[r * width + c];
  };
  return (C{1} - fy) * ((C{1} - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
         fy * ((C{1} - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}

template <class C>
void run_deform_conv(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<DeformConvAttrs>();
  const auto xs = ctx.input(kX).shape, ws = ctx.input(kW).shape, os = ctx.output(0).shape;
  const int64_t kernel[] = {ws[2], ws[3]};
  const auto windows = resolve_windows(window_spec(attrs, kernel), xs.subspan(2));
  const int64_t taps = ws[2] * ws[3], outputs = os[2] * os[3], plane = xs[2] * xs[3];
  const int64_t in_channels = ws[1], out_channels = os[1] / attrs.groups;
  const int64_t per_offset_group = xs[1] / attrs.offset_groups;
  const int64_t depth = in_channels * taps;
  const Reader<C> x(ctx.input(kX)), w(ctx.input(kW)), offset(ctx.input(kOffset));
  std::optional<Reader<C>> bias, mask;
  if (ctx.has(kBias)) bias.emplace(ctx.input(kBias));
  if (ctx.has(kMask)) mask.emplace(ctx.input(kMask));
  Writer<C> out(ctx.output(0));
  std::vector<C> packed(static_cast<size_t>(depth * kProductBlock));
  const auto value_at = [&](int64_t n, int64_t channel, int64_t tap, int64_t p) {
    const int64_t field = (n * attrs.offset_groups + channel / per_offset_group) * taps + tap;
    const C dy = offset[static_cast<size_t>(2 * field * outputs + p)];
    const C dx = offset[static_cast<size_t>((2 * field + 1) * outputs + p)];
    const auto base = [&](size_t d, int64_t o, int64_t k) {
      return static_cast<C>(o * windows[d].stride - windows[d].pad_begin + k * windows[d].dilation);
    };
    const C value =
        sample(x.data() + (n * xs[1] + channel) * plane, xs[2], xs[3],
               base(0, p / os[3], tap / ws[3]) + dy, base(1, p % os[3], tap % ws[3]) + dx);
    return mask ? value * (*mask)[static_cast<size_t>(field * outputs + p)] : value;
  };
  Ticker ticker;
  for (int64_t n = 0; n < os[0]; ++n)
    for (int64_t group = 0; group < attrs.groups; ++group)
      for (int64_t first = 0; first < outputs; first += kProductBlock) {
        if (ticker.tick((8 + out_channels) * depth * kProductBlock)) return;
        const int64_t count = std::min(kProductBlock, outputs - first);
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t j = 0; j < count; ++j)
            packed[static_cast<size_t>(k * kProductBlock + j)] =
                value_at(n, group * in_channels + k / taps, k % taps, first + j);
        const auto rows = MatrixRef<C>::row_major(w.data() + group * out_channels * depth, depth);
        multiply_block(out_channels, depth, rows, packed.data(), count,
                       [&](int64_t row, std::span<const double> sums) {
                         const int64_t channel = group * out_channels + row;
                         const double add =
                             bias ? static_cast<double>((*bias)[static_cast<size_t>(channel)])
                                  : 0.0;
                         C* target = out.data() + (n * os[1] + channel) * outputs + first;
                         for (const double sum : sums) *target++ = static_cast<C>(sum + add);
                       });
      }
  out.commit();
}

Status reference_deform_conv(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  with_float_type(ctx.output(0).dtype, [&](auto type) { run_deform_conv<decltype(type)>(ctx); });
  return {};
}

}  // namespace

constexpr Rule kDeformConvRules[] = {rule::floats("x"),
                                     rule::rank("x", 4),
                                     rule::rank("w", 4),
                                     rule::rank("offset", 4),
                                     rule::rank("bias", 1),
                                     rule::rank("mask", 4),
                                     rule::at_least("groups", 1),
                                     rule::at_least("offset_groups", 1),
                                     rule::at_least("strides", 1),
                                     rule::at_least("dilations", 1),
                                     rule::at_least("pads", 0),
                                     rule::per_spatial("strides", "x"),
                                     rule::per_spatial("dilations", "x"),
                                     rule::per_spatial("pads", "x", 2)};
EC_OP_DEF(DeformConv, .signature = "(x, w, offset, bias?, mask?) -> y",
          .summary =
              "Convolution whose taps read at given offsets by bilinear interpolation, "
              "scaled by an optional mask.",
          .rules = kDeformConvRules, .infer = infer_deform_conv, .reference = reference_deform_conv,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
