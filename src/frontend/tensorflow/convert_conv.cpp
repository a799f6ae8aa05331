// Convolutions. TensorFlow's weights are [k..., I/groups, O]; the IR's have O first.
#include <algorithm>

#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/window.h"

namespace ec::tf {
namespace {

Status need_rank(const OpContext& ctx, size_t i, size_t wanted) {
  EC_TRY(const size_t rank, ctx.rank(i));
  if (rank == wanted) return {};
  return ctx.fail(Code::ShapeMismatch, "input " + std::to_string(i) + " has " +
                                           std::to_string(rank) + " dimensions, " +
                                           std::to_string(wanted) + " are needed");
}

// The spatial sizes of weights, their first dimensions.
Result<std::vector<int64_t>> kernel_of(const OpContext& ctx, const ec::Tensor* weights,
                                       size_t spatial) {
  std::vector<int64_t> kernel;
  for (size_t i = 0; i < weights->shape()->rank(); ++i) {
    const Dim& dim = (*weights->shape())[i];
    if (!dim.is_static())
      return ctx.fail(Code::DynamicShape, "the size of the weights has to be known");
    if (dim.size() < 1 || dim.size() > (1 << 24))
      return ctx.fail(Code::ShapeMismatch, "the weights are " + weights->type().text());
    if (i < spatial) kernel.push_back(dim.size());
  }
  return kernel;
}

Result<int64_t> channels_of(const OpContext& ctx, const ec::Tensor* x, Layout layout) {
  const size_t axis = layout == Layout::ChannelsLast ? x->shape()->rank() - 1 : 1;
  const Dim& dim = (*x->shape())[axis];
  if (dim.is_static() && dim.size() > 0) return dim.size();
  return ctx.fail(Code::DynamicShape, "the number of channels has to be known");
}

// [k..., I, O] with O (axis `out`) first and I (axis `in`) where the layout has the channels.
std::vector<int64_t> weight_order(Layout layout, size_t spatial, int64_t in, int64_t out) {
  std::vector<int64_t> perm{out};
  if (layout == Layout::ChannelsFirst) perm.push_back(in);
  for (size_t i = 0; i < spatial; ++i) perm.push_back(static_cast<int64_t>(i));
  if (layout == Layout::ChannelsLast) perm.push_back(in);
  return perm;
}

template <class A>
Status set_window(const OpContext& ctx, size_t spatial, A& attrs) {
  EC_TRY(attrs.layout, layout_of(ctx, spatial));
  EC_TRY(attrs.strides, spatial_ints(ctx, "strides", attrs.layout, spatial));
  EC_TRY(attrs.dilations, spatial_ints(ctx, "dilations", attrs.layout, spatial));
  return {};
}

template <size_t kSpatial>
Status conv(OpContext& ctx) {
  constexpr auto kIn = static_cast<int64_t>(kSpatial), kOut = kIn + 1;
  EC_CHECK_OK(need_rank(ctx, 0, kSpatial + 2));
  EC_CHECK_OK(need_rank(ctx, 1, kSpatial + 2));
  ConvAttrs attrs;
  EC_CHECK_OK(set_window(ctx, kSpatial, attrs));
  EC_TRY(const std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), kSpatial));
  EC_TRY(const int64_t channels, channels_of(ctx, ctx.in(0), attrs.layout));
  const int64_t per_group = (*ctx.in(1)->shape())[kSpatial].size();
  if (channels % per_group != 0)
    return ctx.fail(Code::ShapeMismatch, "weights " + ctx.in(1)->type().text() +
                                             " do not fit an input of " + std::to_string(channels) +
                                             " channels");
  attrs.groups = channels / per_group;
  EC_CHECK_OK(set_padding(ctx, ctx.in(0), kernel, attrs));
  EC_TRY(ec::Tensor * weights,
         ctx.turned(ctx.in(1), weight_order(attrs.layout, kSpatial, kIn, kOut)));
  return ctx.finish(OpKind::Conv, {ctx.in(0), weights}, attrs);
}

// Weights [h, w, C, m]: channel c gives results c * m ... c * m + m - 1.
Status depthwise_conv(OpContext& ctx) {
  EC_CHECK_OK(need_rank(ctx, 0, 4));
  EC_CHECK_OK(need_rank(ctx, 1, 4));
  ConvAttrs attrs;
  EC_CHECK_OK(set_window(ctx, 2, attrs));
  EC_TRY(const std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), 2));
  EC_TRY(attrs.groups, channels_of(ctx, ctx.in(0), attrs.layout));
  const Shape& shape = *ctx.in(1)->shape();
  const auto results = checked_mul(shape[2].size(), shape[3].size());
  if (shape[2].size() != attrs.groups || !results)
    return ctx.fail(Code::ShapeMismatch, "weights " + ctx.in(1)->type().text() +
                                             " do not fit an input of " +
                                             std::to_string(attrs.groups) + " channels");
  EC_CHECK_OK(set_padding(ctx, ctx.in(0), kernel, attrs));
  // [C, m, h, w] has the order of both layouts.
  EC_TRY(ec::Tensor * weights, ctx.turned(ctx.in(1), {2, 3, 0, 1}));
  const bool last = attrs.layout == Layout::ChannelsLast;
  EC_TRY(weights,
         ctx.reshape(weights, last ? std::vector<int64_t>{*results, kernel[0], kernel[1], 1}
                                   : std::vector<int64_t>{*results, 1, kernel[0], kernel[1]}));
  return ctx.finish(OpKind::Conv, {ctx.in(0), weights}, attrs);
}

// Pads of a transposed convolution from the sizes on both sides, as the gradient of a convolution
// from the output's size to the input's; what the pads leave over comes at the end.
Status set_transposed_padding(const OpContext& ctx, std::span<const int64_t> kernel,
                              std::span<const int64_t> sizes, ConvTransposeAttrs& attrs) {
  const ec::Tensor* x = ctx.in(2);
  const size_t spatial = kernel.size(), first = first_spatial(attrs.layout);
  EC_TRY(const PaddingRule rule, padding_rule(ctx));
  std::vector<int64_t> given(2 * spatial, 0);
  if (rule == PaddingRule::Explicit) {
    EC_TRY(given, explicit_pads(ctx, attrs.layout, spatial));
  }
  attrs.pads.assign(2 * spatial, 0);
  attrs.output_padding.assign(spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = (*x->shape())[i + first].size(), out = sizes[i + first];
    const int64_t stride = attrs.strides[i], reach = (kernel[i] - 1) * attrs.dilations[i] + 1;
    if (out < 1 || out > (int64_t{1} << 31))
      return ctx.fail(Code::BadValue, "the output shape has a size of " + std::to_string(out));
    int64_t begin = given[i];
    if (rule == PaddingRule::Same) begin = same_padding(out, stride, reach) / 2;
    const auto begins = checked_mul(in - 1, stride);  // of the last window
    if (!begins || *begins > (int64_t{1} << 48))
      return ctx.fail(Code::TooLarge, "the input is " + x->type().text());
    const int64_t end = *begins + reach - begin - out;
    attrs.pads[i] = begin;
    attrs.pads[spatial + i] = std::max<int64_t>(0, end);
    attrs.output_padding[i] = std::max<int64_t>(0, -end);
  }
  return {};
}

// The output's sizes when those between batch and channels are known; unknown ones are -1.
Result<std::vector<int64_t>> output_sizes(const OpContext& ctx, Layout layout, size_t spatial) {
  std::vector<int64_t> sizes;
  if (const auto known = known_ints(ctx.in(0))) {
    sizes = *known;
  } else if (const auto& dims = ctx.in(0)->dim_values()) {
    for (const Dim& dim : *dims) sizes.push_back(dim.is_static() ? dim.size() : -1);
  }
  // The list of spatial sizes alone is another form.
  if (sizes.size() == spatial) {
    sizes.insert(sizes.begin(), -1);
    sizes.insert(layout == Layout::ChannelsLast ? sizes.end() : sizes.begin() + 1, -1);
  }
  const size_t first = first_spatial(layout);
  bool known = sizes.size() == spatial + 2;
  for (size_t i = 0; known && i < spatial; ++i)
    known = sizes[first + i] >= 0 && (*ctx.in(2)->shape())[first + i].is_static();
  if (known) return sizes;
  return ctx.fail(Code::DynamicShape, "the sizes of the result have to be known");
}

template <size_t kSpatial>
Status transposed_conv(OpContext& ctx) {
  constexpr auto kOut = static_cast<int64_t>(kSpatial), kIn = kOut + 1;  // [k..., O, I]
  EC_CHECK_OK(need_rank(ctx, 2, kSpatial + 2));
  EC_CHECK_OK(need_rank(ctx, 1, kSpatial + 2));
  ConvTransposeAttrs attrs;
  EC_CHECK_OK(set_window(ctx, kSpatial, attrs));
  EC_TRY(const std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), kSpatial));
  EC_TRY(const std::vector<int64_t> sizes, output_sizes(ctx, attrs.layout, kSpatial));
  EC_CHECK_OK(set_transposed_padding(ctx, kernel, sizes, attrs));
  EC_TRY(const int64_t channels, channels_of(ctx, ctx.in(2), attrs.layout));
  if (channels != (*ctx.in(1)->shape())[kSpatial + 1].size())
    return ctx.unsupported("a transposed convolution of groups is not supported");
  EC_TRY(ec::Tensor * weights,
         ctx.turned(ctx.in(1), weight_order(attrs.layout, kSpatial, kOut, kIn)));
  return ctx.finish(OpKind::ConvTranspose, {ctx.in(2), weights}, attrs);
}

// A bias along the channels.
Status bias_add(OpContext& ctx) {
  ec::Tensor* bias = ctx.in(1);
  const std::string_view format = ctx.attr_text("data_format", "NHWC");
  if (format.starts_with("NC")) {
    EC_TRY(const size_t rank, ctx.rank());
    std::vector<int64_t> axes;
    for (size_t d = 2; d < rank; ++d) axes.push_back(static_cast<int64_t>(d) - 1);
    if (!axes.empty()) {
      EC_TRY(bias, ctx.unsqueeze(bias, axes));
    }
  }
  return ctx.finish(OpKind::Add, {ctx.in(0), bias});
}

constexpr OpRow kRows[] = {
    {"Conv2D", {2, 2}, conv<2>},
    {"Conv3D", {2, 2}, conv<3>},
    {"DepthwiseConv2dNative", {2, 2}, depthwise_conv},
    {"Conv2DBackpropInput", {3, 3}, transposed_conv<2>},
    {"Conv3DBackpropInputV2", {3, 3}, transposed_conv<3>},
    {"BiasAdd", {2, 2}, bias_add},
    {"BiasAddV1", {2, 2}, bias_add},
};

}  // namespace

const std::span<const OpRow> kConvRows = kRows;

}  // namespace ec::tf
