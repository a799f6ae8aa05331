// Convolutions, pools and other windows over images.
#include <algorithm>
#include <type_traits>

#include "fuzz/op/recipe_tools.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

// An image of `spatial` dimensions with these channels, in either order.
Sizes image_sizes(Builder& b, Layout layout, int64_t channels, int64_t spatial) {
  Sizes sizes = {b.random().pick(1, 2)};
  if (layout == Layout::ChannelsFirst) sizes.push_back(channels);
  for (int64_t d = 0; d < spatial; ++d) sizes.push_back(b.random().pick(1, spatial > 2 ? 4 : 8));
  if (layout == Layout::ChannelsLast) sizes.push_back(channels);
  return sizes;
}

// Mostly two spatial dimensions.
int64_t spatial_rank(Builder& b) {
  return b.random().chance(75) ? 2 : b.random().one_of<int64_t>({1, 3});
}

// An image that is there, with its channels and spatial rank, or a new one.
Tensor* any_image(Builder& b, Layout layout, int64_t& channels, int64_t& spatial) {
  Tensor* x = nullptr;
  if (b.random().chance(60)) x = b.reals(3, 5);
  if (x != nullptr) {
    const Sizes sizes = *b.sizes_of(x);
    spatial = static_cast<int64_t>(sizes.size()) - 2;
    channels = layout == Layout::ChannelsFirst ? sizes[1] : sizes.back();
    if (channels > 0) return x;
  }
  spatial = spatial_rank(b);
  channels = b.random().pick(1, 6);
  return b.reals(image_sizes(b, layout, channels, spatial));
}

std::vector<int64_t> list_of(Builder& b, int64_t count, int64_t low, int64_t high) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(b.random().pick(low, high));
  return list;
}

// Strides, dilations and pads, each left out at times.
template <class A>
void fill_window(Builder& b, A& attrs, int64_t spatial, int64_t most_pad) {
  if (b.random().chance(60)) attrs.strides = list_of(b, spatial, 1, 3);
  if constexpr (requires { attrs.dilations; })
    if (b.random().chance(30)) attrs.dilations = list_of(b, spatial, 1, 2);
  if (b.random().chance(50)) attrs.pads = list_of(b, 2 * spatial, 0, most_pad);
}

Sizes filter_sizes(Builder& b, Layout layout, int64_t outer, int64_t inner, int64_t spatial) {
  Sizes sizes = {outer};
  if (layout == Layout::ChannelsFirst) sizes.push_back(inner);
  for (int64_t d = 0; d < spatial; ++d) sizes.push_back(b.random().pick(1, 3));
  if (layout == Layout::ChannelsLast) sizes.push_back(inner);
  return sizes;
}

void conv(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<ConvAttrs>();
  if (b.is_quantised() && b.random().chance(80)) attrs.layout = Layout::ChannelsLast;
  plain_activation(b, attrs);
  if (b.random().chance(70)) attrs.auto_pad = AutoPad::Explicit;
  int64_t channels = 1, spatial = 2;
  Tensor* x = any_image(b, attrs.layout, channels, spatial);
  attrs.groups = b.random().chance(20) ? channels : divisor_of(b, channels);
  fill_window(b, attrs, spatial, 2);
  const int64_t filters = attrs.groups * b.random().pick(1, 3);
  Tensor* w =
      b.weights(filter_sizes(b, attrs.layout, filters, channels / attrs.groups, spatial), 0);
  c.inputs = {x, w};
  if (b.random().chance(60)) c.inputs.push_back(b.bias(filters));
}
void conv_transpose(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<ConvTransposeAttrs>();
  plain_activation(b, attrs);
  if (b.random().chance(70)) attrs.auto_pad = AutoPad::Explicit;
  int64_t channels = 1, spatial = 2;
  Tensor* x = any_image(b, attrs.layout, channels, spatial);
  attrs.groups = divisor_of(b, channels);
  fill_window(b, attrs, spatial, 1);
  if (b.random().chance(20)) attrs.output_padding = list_of(b, spatial, 0, 1);
  const int64_t filters = b.random().pick(1, 3);
  const Sizes sizes = filter_sizes(b, attrs.layout, channels, filters, spatial);
  Tensor* w = b.weights(
      sizes, attrs.layout == Layout::ChannelsFirst ? 1 : static_cast<int32_t>(sizes.size()) - 1);
  if (b.random().chance(10)) attrs.output_sizes = list_of(b, spatial, 3, 12);
  c.inputs = {x, w};
  if (b.random().chance(50)) c.inputs.push_back(b.bias(filters * attrs.groups));
}
void deform_conv(Builder& b, Call& c) {
  DeformConvAttrs attrs;
  const int64_t kh = b.random().pick(1, 3), kw = b.random().pick(1, 3);
  const int64_t h = b.random().pick(kh, 6), w = b.random().pick(kw, 6), n = b.random().pick(1, 2);
  attrs.groups = b.random().pick(1, 2);
  attrs.offset_groups = b.random().pick(1, 2);
  const int64_t channels = 2 * b.random().pick(1, 2),
                filters = attrs.groups * b.random().pick(1, 2);
  const int64_t oh = h - kh + 1, ow = w - kw + 1, taps = kh * kw * attrs.offset_groups;
  c.inputs = {b.floats({n, channels, h, w}), b.floats({filters, channels / attrs.groups, kh, kw}),
              b.floats({n, 2 * taps, oh, ow})};
  if (b.random().chance(50))
    c.inputs.push_back(b.random().chance(70) ? b.floats({filters}) : nullptr);
  if (c.inputs.size() == 4 && b.random().chance(50))
    c.inputs.push_back(b.floats({n, taps, oh, ow}));
  c.attrs = attrs;
}
void col2im(Builder& b, Call& c) {
  const int64_t h = b.random().pick(2, 5), w = b.random().pick(2, 5);
  const int64_t kh = b.random().pick(1, h), kw = b.random().pick(1, w);
  Col2ImAttrs attrs;
  if (b.random().chance(30)) attrs.strides = {1, 1};
  const int64_t columns = (h - kh + 1) * (w - kw + 1);
  c.attrs = attrs;
  c.inputs = {b.floats({b.random().pick(1, 2), kh * kw * b.random().pick(1, 3), columns}),
              b.ints({h, w}), b.ints({kh, kw})};
}

template <class A>
void pool(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  A& attrs = c.attrs.template edit<A>();
  if (b.random().chance(70)) attrs.auto_pad = AutoPad::Explicit;
  int64_t channels = 1, spatial = 2;
  c.inputs = {any_image(b, attrs.layout, channels, spatial)};
  attrs.kernel = list_of(b, spatial, 1, 3);
  fill_window(b, attrs, spatial, 1);
  // A window of pads alone has no largest element.
  for (size_t i = 0; i < attrs.pads.size(); ++i)
    attrs.pads[i] = std::min(attrs.pads[i], attrs.kernel[i % attrs.kernel.size()] - 1);
  if constexpr (std::is_same_v<A, LpPoolAttrs>) attrs.p = b.random().pick(1, 3);
  if (c.kind == OpKind::MaxPool && b.random().chance(30)) c.outputs = 2;
}
void global_pool(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.reals(3, 5)};
}
void max_unpool(Builder& b, Call& c) {
  const int64_t spatial = spatial_rank(b);
  const Sizes sizes = image_sizes(b, Layout::ChannelsFirst, b.random().pick(1, 3), spatial);
  MaxUnpoolAttrs attrs{list_of(b, spatial, 1, 3), {}, {}};
  if (b.random().chance(60)) attrs.strides = list_of(b, spatial, 1, 3);
  c.inputs = {b.floats(sizes), b.indices(sizes, b.random().pick(1, 8))};
  c.attrs = attrs;
}
void argmax_window(Builder& b, Call& c) {
  ArgmaxWindowAttrs attrs{list_of(b, 2, 1, 3), list_of(b, 2, 1, 3),
                          b.random().one_of({AutoPad::Valid, AutoPad::SameUpper})};
  const Sizes sizes = image_sizes(b, Layout::ChannelsLast, b.random().pick(1, 4), 2);
  c.inputs = {b.of_type(DType::F32, sizes)};
  if (c.kind == OpKind::MaxUnpoolArgmax)
    c.inputs.push_back(b.of_type(DType::F32, sizes));
  else
    c.outputs = static_cast<size_t>(b.random().pick(1, 2));
  c.attrs = attrs;
}
void max_roi_pool(Builder& b, Call& c) {
  c.attrs = MaxRoiPoolAttrs{list_of(b, 2, 1, 3), 1.0f};
  const Sizes sizes = image_sizes(b, Layout::ChannelsFirst, 2, 2);
  Sizes boxes = {b.random().pick(1, 3), 5};
  std::vector<double> values;
  for (int64_t i = 0; i < boxes[0]; ++i)
    for (int64_t j = 0; j < 5; ++j)
      values.push_back(j == 0 ? 0.0 : static_cast<double>(b.random().pick(0, 5)));
  c.inputs = {b.floats(sizes), b.made(value_of(b.real_type(), boxes, values), 50)};
}
void roi_align(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<RoiAlignAttrs>();
  attrs.output_height = b.random().pick(1, 3);
  attrs.output_width = b.random().pick(1, 3);
  attrs.sampling_ratio = b.random().pick(0, 3);
  const int64_t count = b.random().pick(1, 3);
  const Sizes sizes = image_sizes(b, Layout::ChannelsFirst, 2, 2);
  c.inputs = {b.floats(sizes), b.floats({count, 4}), b.indices({count}, sizes[0])};
}

constexpr Recipe kWindow[] = {
    {OpKind::Conv, conv},
    {OpKind::ConvTranspose, conv_transpose},
    {OpKind::DeformConv, deform_conv},
    {OpKind::Col2Im, col2im},
    {OpKind::MaxPool, pool<PoolAttrs>},
    {OpKind::AvgPool, pool<PoolAttrs>},
    {OpKind::LpPool, pool<LpPoolAttrs>},
    {OpKind::GlobalAvgPool, global_pool},
    {OpKind::GlobalMaxPool, global_pool},
    {OpKind::MaxUnpool, max_unpool},
    {OpKind::MaxPoolArgmax, argmax_window},
    {OpKind::MaxUnpoolArgmax, argmax_window},
    {OpKind::MaxRoiPool, max_roi_pool},
    {OpKind::RoiAlign, roi_align},
};

}  // namespace

const std::span<const Recipe> kWindowRecipes = kWindow;

}  // namespace ec::fuzz
