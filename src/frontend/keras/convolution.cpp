// Convolutions of one, two and three dimensions: plain, depthwise, separable, transposed. Keras
// stores kernels as [k..., in / groups, out]; the IR has [out, k..., in / groups] or
// [out, in / groups, k...] by layout.
#include "frontend/keras/convolution.h"

#include <numeric>

#include "frontend/keras/quantize.h"
#include "frontend/keras/table.h"
#include "ops/window.h"

namespace ec::keras {
namespace {

Layout layout_of(const LayerCall& c) {
  return c.channels_first() ? Layout::ChannelsFirst : Layout::ChannelsLast;
}

// The order of a kernel's dimensions with these two in front and behind (or both in front).
Ints kernel_order(size_t spatial, int64_t first, int64_t inner, Layout layout) {
  Ints perm = {first};
  if (layout == Layout::ChannelsFirst) perm.push_back(inner);
  for (size_t i = 0; i < spatial; ++i) perm.push_back(static_cast<int64_t>(i));
  if (layout == Layout::ChannelsLast) perm.push_back(inner);
  return perm;
}

size_t spatial_of(LayerCall& c) {
  const std::string& name = c.layer().class_name;
  for (size_t n = 1; n <= 3; ++n)
    if (name.find(std::to_string(n) + "D") != std::string::npos) return n;
  return 2;
}

bool biased(const LayerCall& c) { return c.flag("use_bias", true); }

Names with_bias(const LayerCall& c, Names names) {
  if (biased(c)) names.emplace_back("bias");
  return names;
}

ConvAttrs attributes(LayerCall& c, size_t spatial) {
  ConvAttrs attrs;
  attrs.layout = layout_of(c);
  attrs.strides = c.has("strides") ? c.window("strides", spatial) : Ints(spatial, 1);
  attrs.dilations = c.has("dilation_rate") ? c.window("dilation_rate", spatial) : Ints(spatial, 1);
  return attrs;
}

void need_rank(LayerCall& c, const Tensor* x, size_t spatial) {
  if (c.rank(x) != static_cast<int64_t>(spatial) + 2)
    c.fail(Code::ShapeMismatch, "an input of " + std::to_string(spatial + 2) +
                                    " dimensions is needed, not " + x->type().text());
}

Tensor* finish(LayerCall& c, Tensor* y) { return c.activate(y); }

Value plain(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.float_x();
  need_rank(c, x, spatial);
  ConvAttrs attrs = attributes(c, spatial);
  c.variables(with_bias(c, {"kernel"}));
  Tensor* kernel = layer_kernel(c, "kernel");
  return finish(c, convolve(c, x, kernel, biased(c) ? c.weight("bias") : nullptr, attrs,
                            c.text("padding", "valid")));
}

Value depthwise(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.float_x();
  need_rank(c, x, spatial);
  const ConvAttrs attrs = attributes(c, spatial);
  c.variables(with_bias(c, {"kernel|depthwise_kernel"}));
  return finish(
      c, convolve_depthwise(c, x, layer_kernel(c, "kernel"), biased(c) ? c.weight("bias") : nullptr,
                            attrs, c.text("padding", "valid")));
}

Value separable(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.float_x();
  need_rank(c, x, spatial);
  const ConvAttrs attrs = attributes(c, spatial);
  c.variables(with_bias(c, {"depthwise_kernel", "pointwise_kernel"}));
  Tensor* y = convolve_depthwise(c, x, layer_kernel(c, "depthwise_kernel"), nullptr, attrs,
                                 c.text("padding", "valid"));
  ConvAttrs point;
  point.layout = attrs.layout;
  point.strides = point.dilations = Ints(spatial, 1);
  y = convolve(c, y, layer_kernel(c, "pointwise_kernel"), biased(c) ? c.weight("bias") : nullptr,
               point, "valid");
  return finish(c, y);
}

Value transposed(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.float_x();
  need_rank(c, x, spatial);
  c.variables(with_bias(c, {"kernel"}));
  Ints output_padding;
  if (c.has("output_padding")) output_padding = c.ints("output_padding", spatial);
  return finish(c, convolve_transposed(
                       c, x, layer_kernel(c, "kernel"), biased(c) ? c.weight("bias") : nullptr,
                       attributes(c, spatial), c.text("padding", "valid"), output_padding));
}

constexpr LayerRow kRows[] = {
    {"Conv1D", plain, MaskRule::Drop},
    {"Conv2D", plain, MaskRule::Drop},
    {"Conv3D", plain, MaskRule::Drop},
    {"Convolution1D", plain, MaskRule::Drop},
    {"Convolution2D", plain, MaskRule::Drop},
    {"Convolution3D", plain, MaskRule::Drop},
    {"DepthwiseConv1D", depthwise, MaskRule::Drop},
    {"DepthwiseConv2D", depthwise, MaskRule::Drop},
    {"SeparableConv1D", separable, MaskRule::Drop},
    {"SeparableConv2D", separable, MaskRule::Drop},
    {"Conv1DTranspose", transposed, MaskRule::Drop},
    {"Conv2DTranspose", transposed, MaskRule::Drop},
    {"Conv3DTranspose", transposed, MaskRule::Drop},
};

// Pads of SAME and VALID where sizes are known; the rule where they are open.
template <class A>
void set_padding(LayerCall& c, const Tensor* x, const Ints& kernel, const std::string& padding,
                 A& attrs) {
  const size_t spatial = kernel.size();
  attrs.pads.assign(2 * spatial, 0);
  if (padding == "valid") return;
  if (padding == "causal") {
    for (size_t i = 0; i < spatial; ++i)
      attrs.pads[i] = (kernel[i] - 1) * (attrs.dilations.empty() ? 1 : attrs.dilations[i]);
    return;
  }
  if (padding != "same") {
    c.unsupported("padding '" + padding + "'");
    return;
  }
  attrs.auto_pad = AutoPad::SameUpper;
  const WindowSpec spec = window_spec(attrs, kernel);
  Ints pads(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<int64_t>(spatial_axis(attrs.layout, i));
    if (!c.is_static(x, axis)) return;
    const WindowDim dim = resolve_window(spec, i, c.size(x, axis));
    pads[i] = dim.pad_begin;
    pads[spatial + i] = dim.pad_end;
  }
  attrs.auto_pad = AutoPad::Explicit;
  attrs.pads = std::move(pads);
}

constexpr int64_t kLargestKernel = 1 << 24;  // of one axis; times a dilation that is as large

// The spatial sizes in front of a kernel's last two dimensions.
Ints kernel_sizes(LayerCall& c, const Tensor* kernel) {
  Ints sizes;
  for (int64_t i = 0, n = c.rank(kernel) - 2; i < n; ++i) {
    sizes.push_back(c.size(kernel, i));
    if (sizes.back() < 1 || sizes.back() > kLargestKernel)
      c.fail(Code::ShapeMismatch, "the kernel is " + kernel->type().text());
  }
  return sizes;
}

}  // namespace

void set_pool_padding(LayerCall& c, const Tensor* x, const std::string& padding, PoolAttrs& attrs) {
  const Ints kernel = attrs.kernel;
  set_padding(c, x, kernel, padding, attrs);
}

Tensor* convolve(LayerCall& c, Tensor* x, Tensor* kernel, Tensor* bias, ConvAttrs attrs,
                 const std::string& padding) {
  const size_t spatial = attrs.strides.size();
  const Ints sizes = kernel_sizes(c, kernel);
  if (!c.ok() || sizes.size() != spatial)
    return c.fail(Code::ShapeMismatch, "the kernel is " + kernel->type().text());
  const int64_t channels = c.size(x, static_cast<int64_t>(channel_axis(attrs.layout, spatial + 2)));
  const int64_t per_group = c.size(kernel, static_cast<int64_t>(spatial));
  if (per_group < 1 || channels % per_group != 0 || channels < 1)
    return c.fail(Code::ShapeMismatch, "a kernel " + kernel->type().text() +
                                           " does not fit an input " + x->type().text());
  attrs.groups = channels / per_group;
  set_padding(c, x, sizes, padding, attrs);
  const auto n = static_cast<int64_t>(spatial);
  Tensor* weights = c.permuted(kernel, kernel_order(spatial, n + 1, n, attrs.layout));
  Tensors operands = {x, trained_steps(c, weights, 0)};
  if (bias != nullptr) operands.push_back(bias);
  return c.add(OpKind::Conv, std::move(operands), attrs);
}

Tensor* convolve_depthwise(LayerCall& c, Tensor* x, Tensor* kernel, Tensor* bias, ConvAttrs attrs,
                           const std::string& padding) {
  const size_t spatial = attrs.strides.size();
  const Ints sizes = kernel_sizes(c, kernel);
  if (!c.ok() || sizes.size() != spatial)
    return c.fail(Code::ShapeMismatch, "the kernel is " + kernel->type().text());
  const auto n = static_cast<int64_t>(spatial);
  const int64_t channels = c.size(kernel, n), outputs = c.product(channels, c.size(kernel, n + 1));
  attrs.groups = channels;
  set_padding(c, x, sizes, padding, attrs);
  // [k..., in, multiplier] to [in * multiplier, k..., 1].
  Ints perm = {n, n + 1}, shape = {outputs};
  if (attrs.layout == Layout::ChannelsFirst) shape.push_back(1);
  for (int64_t i = 0; i < n; ++i) {
    perm.push_back(i);
    shape.push_back(sizes[static_cast<size_t>(i)]);
  }
  if (attrs.layout == Layout::ChannelsLast) shape.push_back(1);
  Tensors operands = {x, trained_steps(c, c.permuted(kernel, perm, shape), 0)};
  if (bias != nullptr) operands.push_back(bias);
  return c.add(OpKind::Conv, std::move(operands), attrs);
}

Tensor* convolve_transposed(LayerCall& c, Tensor* x, Tensor* kernel, Tensor* bias,
                            const ConvAttrs& forward, const std::string& padding,
                            const Ints& output_padding) {
  const size_t spatial = forward.strides.size();
  const Ints sizes = kernel_sizes(c, kernel);
  if (!c.ok() || sizes.size() != spatial)
    return c.fail(Code::ShapeMismatch, "the kernel is " + kernel->type().text());
  if (padding != "same" && padding != "valid") return c.unsupported("padding '" + padding + "'");
  for (const int64_t n : output_padding)
    if (n < 0 || n > kLargestKernel)
      return c.fail(Code::BadAttribute, "'output_padding' is out of range");
  ConvTransposeAttrs attrs;
  attrs.layout = forward.layout;
  attrs.strides = forward.strides;
  attrs.dilations = forward.dilations;
  attrs.pads.assign(2 * spatial, 0);
  attrs.output_padding.assign(spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = attrs.strides[i], reach = (sizes[i] - 1) * attrs.dilations[i] + 1;
    // How much the full result, (input - 1) * stride + reach, is larger than the wanted one.
    int64_t cut = 0;
    if (padding == "valid")
      cut = output_padding.empty() ? std::min<int64_t>(0, reach - stride) : -output_padding[i];
    else
      cut = output_padding.empty() ? reach - stride : reach - reach % 2 - output_padding[i];
    const int64_t before = padding == "same" ? std::max<int64_t>(0, cut) / 2 : 0;
    attrs.pads[i] = before;
    attrs.pads[spatial + i] = std::max<int64_t>(0, cut - before);
    attrs.output_padding[i] = std::max<int64_t>(0, before - cut);
  }
  const auto n = static_cast<int64_t>(spatial);
  Tensor* weights = c.permuted(kernel, kernel_order(spatial, n + 1, n, attrs.layout));
  // Ranges of each channel are those of the results.
  const auto outputs = static_cast<int64_t>(attrs.layout == Layout::ChannelsLast ? n + 1 : 1);
  Tensors operands = {x, trained_steps(c, weights, outputs)};
  if (bias != nullptr) operands.push_back(bias);
  return c.add(OpKind::ConvTranspose, std::move(operands), attrs);
}

const std::span<const LayerRow> kConvolutionRows = kRows;

}  // namespace ec::keras
