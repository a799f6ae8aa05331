// Resize: nearest, linear and cubic interpolation along any axes.
#include <algorithm>
#include <cmath>

#include "ops/define.h"
#include "ops/quantized/kernels.h"
#include "ops/resize_taps.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

enum : size_t { kX, kRoi, kScales, kSizes };

constexpr int64_t kMaxSize = int64_t{1} << 40;

// An operand of no elements stands for an absent one.
bool is_given(const InferContext& ctx, size_t i) {
  return ctx.has(i) && !(ctx.shape(i) && ctx.shape(i)->num_elements() == 0);
}

Status check_count(const InferContext& ctx, size_t i, size_t count, const char* what) {
  if (!is_given(ctx, i) || !ctx.shape(i)) return {};
  const Shape& shape = *ctx.shape(i);
  if (shape.rank() != 1 || (shape[0].is_static() && shape[0].size() != static_cast<int64_t>(count)))
    return ctx.bad_shape(std::string(what) + " " + operand_text(ctx, i) + " should have " +
                         std::to_string(count) + " elements for " + operand_text(ctx, kX));
  return {};
}

Result<Dim> scaled_dim(const InferContext& ctx, const Dim& input, float scale) {
  if (!(scale > 0.0f) || !std::isfinite(scale))
    return ctx.bad_value("scale " + std::to_string(scale) + " should be positive and finite");
  if (scale == 1.0f) return input;
  if (!input.is_static()) return Dim::unknown();
  // In single precision, as exporters do: 0.7 x 10 is 7.
  const float size = std::floor(static_cast<float>(input.size()) * scale);
  if (!(size <= static_cast<float>(kMaxSize)))
    return ctx.bad_value("scale " + std::to_string(scale) + " makes " + input.text() +
                         " too large");
  return Dim(static_cast<int64_t>(size));
}

Status infer_scales(const InferContext& ctx, std::span<const int64_t> axes, Shape& out) {
  for (const int64_t axis : axes) {
    const Dim& input = (*ctx.shape(kX))[static_cast<size_t>(axis)];
    out[static_cast<size_t>(axis)] =
        input.is_static() && input.size() == 0 ? Dim(0) : Dim::unknown();
  }
  const auto view = ctx.value(kScales);
  if (!view) return {};
  std::vector<float> scales(static_cast<size_t>(view->count()));
  load<float>(*view, scales);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    EC_TRY(out[axis], scaled_dim(ctx, (*ctx.shape(kX))[axis], scales[i]));
  }
  return {};
}

// Rounds sizes that keep the aspect; leaves them open when one is not known.
Status keep_aspect(const InferContext& ctx, std::span<const int64_t> axes,
                   const std::vector<Dim>& sizes, Shape& out) {
  const AspectPolicy policy = ctx.attrs<ResizeAttrs>().aspect;
  double scale = -1.0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& input = (*ctx.shape(kX))[static_cast<size_t>(axes[i])];
    out[static_cast<size_t>(axes[i])] = Dim::unknown();
    if (!input.is_static() || !sizes[i].is_static() || input.size() == 0) scale = NAN;
    if (std::isnan(scale)) continue;
    const double own = static_cast<double>(sizes[i].size()) / static_cast<double>(input.size());
    scale = scale < 0.0                         ? own
            : policy == AspectPolicy::NotLarger ? std::min(scale, own)
                                                : std::max(scale, own);
  }
  if (std::isnan(scale) || scale < 0.0) return {};
  for (const int64_t axis : axes) {
    const double size = std::floor(
        scale * static_cast<double>((*ctx.shape(kX))[static_cast<size_t>(axis)].size()) + 0.5);
    if (size > static_cast<double>(kMaxSize))
      return ctx.bad_value("the result of the resize is too large");
    out[static_cast<size_t>(axis)] = Dim(static_cast<int64_t>(size));
  }
  return {};
}

Status infer_sizes(const InferContext& ctx, std::span<const int64_t> axes, Shape& out) {
  if (const auto known = ctx.int_values(kSizes))
    for (const int64_t size : *known)
      if (size < 0 || size > kMaxSize)
        return ctx.bad_value("size " + std::to_string(size) + " is out of range");
  const auto sizes = ctx.dim_values(kSizes);
  if (ctx.attrs<ResizeAttrs>().aspect != AspectPolicy::Stretch)
    return keep_aspect(ctx, axes, sizes ? *sizes : std::vector<Dim>(axes.size(), Dim::unknown()),
                       out);
  for (size_t i = 0; i < axes.size(); ++i)
    out[static_cast<size_t>(axes[i])] = sizes ? (*sizes)[i] : Dim::unknown();
  return {};
}

Status check_nonempty(const InferContext& ctx, const Shape& out) {
  for (size_t d = 0; d < out.rank(); ++d) {
    const Dim& input = (*ctx.shape(kX))[d];
    if (input.is_static() && input.size() == 0 && out[d].is_static() && out[d].size() > 0)
      return ctx.bad_shape("an empty dimension of " + operand_text(ctx, kX) + " cannot grow to " +
                           out.text());
  }
  return {};
}

Status infer_resize(InferContext& ctx) {
  const auto& attrs = ctx.attrs<ResizeAttrs>();
  const bool scales = is_given(ctx, kScales), sizes = is_given(ctx, kSizes);
  if (scales == sizes) return ctx.fail(Code::BadArity, "resize needs either scales or sizes");
  if (scales && !is_float(ctx.dtype(kScales)))
    return ctx.bad_type("scales should be floats, not " + operand_text(ctx, kScales));
  if (sizes && !is_integer(ctx.dtype(kSizes)))
    return ctx.bad_type("sizes should be integers, not " + operand_text(ctx, kSizes));
  if (attrs.mode != ResizeMode::Nearest && ctx.dtype(kX) == DType::Bool)
    return ctx.bad_type("interpolation needs numbers, not " + operand_text(ctx, kX));
  if (ctx.has(kRoi) && !is_float(ctx.dtype(kRoi)))
    return ctx.bad_type("roi should be floats, not " + operand_text(ctx, kRoi));
  ctx.set(0, ctx.dtype(kX), std::nullopt);
  if (!ctx.shape(kX)) return {};
  const size_t rank = ctx.shape(kX)->rank();
  std::vector<int64_t> axes = attrs.axes;
  if (axes.empty())
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  EC_CHECK_OK(check_count(ctx, kScales, axes.size(), "scales"));
  EC_CHECK_OK(check_count(ctx, kSizes, axes.size(), "sizes"));
  if (attrs.coordinates == CoordinateMode::CropAndResize) {
    if (!is_given(ctx, kRoi)) return ctx.fail(Code::BadArity, "these coordinates need a roi");
    EC_CHECK_OK(check_count(ctx, kRoi, 2 * axes.size(), "roi"));
  }
  Shape out = *ctx.shape(kX);
  EC_CHECK_OK(scales ? infer_scales(ctx, axes, out) : infer_sizes(ctx, axes, out));
  EC_CHECK_OK(check_nonempty(ctx, out));
  ctx.set(0, ctx.dtype(kX), std::move(out));
  return {};
}

// --- kernels -------------------------------------------------------------------------------------

// The tensor seen from one axis: outer x axis x inner.
struct AxisView {
  int64_t outer = 1, inner = 1;
  AxisView(std::span<const int64_t> shape, size_t axis) {
    for (size_t d = 0; d < axis; ++d) outer *= shape[d];
    for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  }
};

// Whole elements move: any type, no rounding.
void resize_nearest(KernelContext& ctx, const ResizeAttrs& attrs,
                    std::span<const ResizeAxis> axes) {
  const ConstView& x = ctx.input(kX);
  const MutableView& y = ctx.output(0);
  const size_t size = element_size(x.dtype);
  const auto strides = row_major_strides(x.shape);
  std::vector<std::vector<int64_t>> offsets;
  std::vector<std::vector<uint8_t>> outside;
  for (size_t d = 0; d < axes.size(); ++d) {
    ResizeTaps taps = resize_taps(attrs, axes[d]);
    for (int64_t& index : taps.index) index *= strides[d];
    offsets.push_back(std::move(taps.index));
    outside.push_back(std::move(taps.outside));
  }
  std::vector<std::byte> fill(size);
  const double value = double{attrs.extrapolation_value};
  store<double>(MutableView{x.dtype, {}, fill.data(), nullptr}, std::span(&value, 1));
  IndexWalker walker(y.shape);
  std::byte* target = y.data;
  do {
    int64_t at = 0;
    bool out = false;
    for (size_t d = 0; d < axes.size(); ++d) {
      const auto i = static_cast<size_t>(walker.index()[d]);
      at += offsets[d][i];
      out = out || (!outside[d].empty() && outside[d][i] != 0);
    }
    std::copy_n(out ? fill.data() : x.data + static_cast<size_t>(at) * size, size, target);
    target += size;
  } while (walker.next());
}

std::vector<double> apply_axis(const std::vector<double>& values, const AxisView& view,
                               const ResizeAxis& axis, const ResizeTaps& taps,
                               double extrapolation) {
  std::vector<double> out(static_cast<size_t>(view.outer * axis.output * view.inner));
  double* target = out.data();
  Ticker ticker;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t i = 0; i < axis.output; ++i, target += view.inner) {
      if (ticker.tick(taps.per_output * (4 + view.inner))) return out;
      if (!taps.outside.empty() && taps.outside[static_cast<size_t>(i)] != 0) {
        std::fill_n(target, view.inner, extrapolation);
        continue;
      }
      for (int64_t t = 0; t < taps.per_output; ++t) {
        const auto entry = static_cast<size_t>(i * taps.per_output + t);
        const double weight = taps.weight[entry];
        if (weight == 0.0) continue;
        const double* source = values.data() + (o * axis.input + taps.index[entry]) * view.inner;
        for (int64_t k = 0; k < view.inner; ++k) target[k] += weight * source[k];
      }
    }
  return out;
}

Status resize_smooth(KernelContext& ctx, const ResizeAttrs& attrs,
                     std::span<const ResizeAxis> axes) {
  std::vector<int64_t> shape(ctx.input(kX).shape.begin(), ctx.input(kX).shape.end());
  std::vector<double> values(static_cast<size_t>(ctx.input(kX).count()));
  load<double>(ctx.input(kX), values);
  // Shrinking axes first: no intermediate is larger than input or result.
  std::vector<size_t> order;
  for (size_t d = 0; d < axes.size(); ++d)
    if (!axes[d].is_identity(attrs.coordinates)) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return (axes[a].output <= axes[a].input) > (axes[b].output <= axes[b].input);
  });
  for (const size_t d : order) {
    const ResizeTaps taps = resize_taps(attrs, axes[d]);
    values =
        apply_axis(values, AxisView(shape, d), axes[d], taps, double{attrs.extrapolation_value});
    shape[d] = axes[d].output;
  }
  if (!is_float(ctx.output(0).dtype))
    for (double& value : values) value = std::nearbyint(value);
  store<double>(ctx.output(0), values);
  return {};
}

Status reference_resize(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ResizeAttrs>();
  if (ctx.output(0).count() == 0) return {};
  const auto operand = [&](size_t i) {
    return ctx.has(i) && ctx.input(i).count() > 0 ? &ctx.input(i) : nullptr;
  };
  const auto axes = resize_axes(attrs, ctx.input(kX).shape, ctx.output(0).shape, operand(kRoi),
                                operand(kScales), operand(kSizes));
  if (attrs.mode != ResizeMode::Nearest) return resize_smooth(ctx, attrs, axes);
  resize_nearest(ctx, attrs, axes);
  return {};
}

}  // namespace

constexpr Rule kResizeRules[] = {rule::floats("roi"), rule::floats("scales"),
                                 rule::integers("sizes"), rule::not_negative("sizes"),
                                 rule::axes("axes", "x")};
EC_OP_DEF(Resize, .signature = "(x, roi?, scales?, sizes?) -> y",
          .summary =
              "Resamples the listed axes to scales or sizes by nearest, linear or cubic "
              "interpolation, on request with an anti-aliasing filter.",
          .rules = kResizeRules, .infer = infer_resize, .reference = reference_resize,
          .quantized = quantized::resize, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::AxisAttr);

}  // namespace ec::ops
