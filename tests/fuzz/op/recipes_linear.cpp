// Normalisation, matrix products, attention, convolutions and pools.
#include <algorithm>

#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

// --- images and windows --------------------------------------------------------------------------

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

int64_t divisor_of(Builder& b, int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= std::max<int64_t>(n, 1); ++d)
    if (n % d == 0) divisors.push_back(d);
  return b.random().chance(50) ? 1 : b.random().one_of(divisors);
}

Sizes filter_sizes(Builder& b, Layout layout, int64_t outer, int64_t inner, int64_t spatial) {
  Sizes sizes = {outer};
  if (layout == Layout::ChannelsFirst) sizes.push_back(inner);
  for (int64_t d = 0; d < spatial; ++d) sizes.push_back(b.random().pick(1, 3));
  if (layout == Layout::ChannelsLast) sizes.push_back(inner);
  return sizes;
}

template <class A>
void plain_activation(Builder& b, A& attrs) {
  if (b.random().chance(60)) attrs.activation = Activation::None;
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

// --- products ------------------------------------------------------------------------------------

void matmul(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<MatMulAttrs>();
  plain_activation(b, attrs);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const bool matrix = sizes.size() > 1;
  if (!matrix) attrs.transpose_a = false;
  const int64_t k = attrs.transpose_a ? sizes[sizes.size() - 2] : sizes.back();
  const int64_t n = b.random().pick(1, 6);
  Sizes other = attrs.transpose_b ? Sizes{n, k} : Sizes{k, n};
  if (sizes.size() > 2 && b.random().chance(50))
    other.insert(other.begin(), sizes.begin(), sizes.end() - 2);
  else if (b.random().chance(10) && !attrs.transpose_b)
    other = {k};
  const auto axis =
      static_cast<int32_t>(other.size()) - (attrs.transpose_b && other.size() > 1 ? 2 : 1);
  c.inputs = {x, b.random().chance(60) ? b.weights(other, axis) : b.reals(other)};
  if (b.random().chance(30)) c.inputs.push_back(b.bias(n));
}
void gemm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<GemmAttrs>();
  plain_activation(b, attrs);
  if (b.is_quantised()) attrs.alpha = attrs.beta = 1.0f;
  Tensor* x = b.reals(2, 2);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t m = sizes[attrs.transpose_a ? 1 : 0], k = sizes[attrs.transpose_a ? 0 : 1];
  const int64_t n = b.random().pick(1, 6);
  c.inputs = {x,
              b.weights(attrs.transpose_b ? Sizes{n, k} : Sizes{k, n}, attrs.transpose_b ? 0 : 1)};
  if (b.random().chance(30)) return;
  if (b.is_quantised() || b.random().chance(60))
    c.inputs.push_back(b.bias(n));
  else
    c.inputs.push_back(b.reals(b.random().one_of<Sizes>({{m, n}, {1}, {}, {m, 1}, {1, n}})));
}
void einsum(Builder& b, Call& c) {
  const int64_t i = b.size(), j = b.size(), k = b.size(), n = b.size(3);
  struct Form {
    const char* equation;
    std::vector<Sizes> operands;
  };
  const std::vector<Form> forms = {{"ij,jk->ik", {{i, j}, {j, k}}},
                                   {"nij,njk->nik", {{n, i, j}, {n, j, k}}},
                                   {"ij->ji", {{i, j}}},
                                   {"ij->", {{i, j}}},
                                   {"ii->i", {{i, i}}},
                                   {"i,j->ij", {{i}, {j}}},
                                   {"...ij->...ji", {{n, i, j}}},
                                   {"ij,ij->i", {{i, j}, {i, j}}},
                                   {"ij,jk", {{i, j}, {j, k}}},
                                   {"nij,kj->nik", {{n, i, j}, {k, j}}},
                                   {"i,i,i->i", {{i}, {i}, {i}}},
                                   {"nijk,nk->nji", {{n, i, j, k}, {n, k}}}};
  const Form& form = b.random().one_of(forms);
  c.attrs = EinsumAttrs{.equation = form.equation};
  for (const Sizes& sizes : form.operands) c.inputs.push_back(b.floats(sizes));
}
void det(Builder& b, Call& c) {
  Sizes sizes = b.shape(0, 2);
  const int64_t n = b.random().pick(1, 4);
  sizes.insert(sizes.end(), {n, n});
  c.inputs = {b.floats(sizes)};
}
void attention(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<AttentionAttrs>();
  const int64_t n = b.random().pick(1, 2), kv = b.random().pick(1, 2),
                q = kv * b.random().pick(1, 2);
  const int64_t lq = b.random().pick(1, 4), lk = b.random().pick(1, 5), d = b.random().pick(1, 4);
  const int64_t dv = b.random().pick(1, 4);
  int64_t past = 0;
  if (b.random().chance(50)) {
    c.inputs = {b.floats({n, q, lq, d}), b.floats({n, kv, lk, d}), b.floats({n, kv, lk, dv})};
  } else {
    attrs.q_heads = q;
    attrs.kv_heads = kv;
    c.inputs = {b.floats({n, lq, q * d}), b.floats({n, lk, kv * d}), b.floats({n, lk, kv * dv})};
  }
  const bool cached = b.random().chance(25);
  if (cached) past = b.random().pick(1, 3);
  Tensor* mask = nullptr;
  if (b.random().chance(50)) {
    const Sizes sizes =
        b.random().one_of<Sizes>({{lq, lk + past}, {1, 1, lq, lk + past}, {n, q, lq, lk + past}});
    mask = b.random().chance(40) ? b.of_type(DType::Bool, sizes) : b.floats(sizes);
  }
  c.inputs.push_back(mask);
  if (cached)
    c.inputs.insert(c.inputs.end(), {b.floats({n, kv, past, d}), b.floats({n, kv, past, dv})});
  else if (b.random().chance(20))
    c.inputs.insert(c.inputs.end(), {nullptr, nullptr, b.indices({n}, lk + 1)});
  c.outputs = static_cast<size_t>(b.random().chance(30) ? b.random().pick(2, 4) : 1);
  if (b.random().chance(30)) attrs.left_window = b.random().pick(-1, 3);
}
void rotary(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<RotaryEmbeddingAttrs>();
  const int64_t n = b.random().pick(1, 2), heads = b.random().pick(1, 3),
                length = b.random().pick(1, 4);
  const int64_t half = b.random().pick(1, 3);
  const bool rank4 = b.random().chance(50);
  if (!rank4) attrs.num_heads = heads;
  c.inputs = {
      b.floats(rank4 ? Sizes{n, heads, length, 2 * half} : Sizes{n, length, heads * 2 * half})};
  if (b.random().chance(50)) {
    c.inputs.insert(c.inputs.end(),
                    {b.floats({6, half}), b.floats({6, half}), b.indices({n, length}, 6)});
  } else {
    c.inputs.insert(c.inputs.end(), {b.floats({n, length, half}), b.floats({n, length, half})});
  }
}

// --- normalisation -------------------------------------------------------------------------------

template <class A>
Tensor* channelled(Builder& b, const A& attrs, int64_t& channels) {
  Tensor* x = b.reals(2, 5);
  const Sizes sizes = *b.sizes_of(x);
  channels = attrs.layout == Layout::ChannelsFirst ? sizes[1] : sizes.back();
  return x;
}
void batch_norm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<BatchNormAttrs>();
  if (b.random().chance(80)) attrs.training = false;
  int64_t n = 0;
  Tensor* x = channelled(b, attrs, n);
  c.inputs = {x, b.positive({n}), b.floats({n}), b.floats({n}), b.positive({n})};
  if (attrs.training) c.outputs = 3;
}
void scaled_norm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  int64_t n = 0;
  Tensor* x = c.kind == OpKind::GroupNorm ? channelled(b, c.attrs.as<GroupNormAttrs>(), n)
                                          : channelled(b, c.attrs.as<InstanceNormAttrs>(), n);
  if (c.kind == OpKind::GroupNorm) c.attrs.edit<GroupNormAttrs>().groups = divisor_of(b, n);
  c.inputs = {x, b.positive({n}), b.floats({n})};
}
void layer_norm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const auto axis = static_cast<int64_t>(b.random().index(sizes.size()));
  c.attrs.edit<LayerNormAttrs>().axis = axis;
  const Sizes inner(sizes.begin() + axis, sizes.end());
  c.inputs = {x};
  if (b.random().chance(80)) c.inputs.push_back(b.positive(inner));
  if (c.kind == OpKind::LayerNorm && c.inputs.size() == 2 && b.random().chance(60))
    c.inputs.push_back(b.floats(inner));
  if (c.kind == OpKind::LayerNorm && b.random().chance(15)) c.outputs = 3;
}
void lp_norm(Builder& b, Call& c) {
  c.inputs = {b.reals(1, 4)};
  const auto rank = static_cast<int64_t>(c.inputs[0]->shape()->rank());
  c.attrs = LpNormAttrs{b.random().pick(-rank, rank - 1), b.random().pick(1, 2)};
}
void lrn(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.attrs.edit<LrnAttrs>().size = b.random().pick(1, 5);
  c.inputs = {b.reals(3, 5)};
}

constexpr Recipe kLinear[] = {
    {OpKind::MatMul, matmul}, {OpKind::Gemm, gemm},           {OpKind::Einsum, einsum},
    {OpKind::Det, det},       {OpKind::Attention, attention}, {OpKind::RotaryEmbedding, rotary},
};
constexpr Recipe kNorm[] = {
    {OpKind::BatchNorm, batch_norm},
    {OpKind::InstanceNorm, scaled_norm},
    {OpKind::LayerNorm, layer_norm},
    {OpKind::RmsNorm, layer_norm},
    {OpKind::GroupNorm, scaled_norm},
    {OpKind::LpNorm, lp_norm},
    {OpKind::Lrn, lrn},
};
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

const std::span<const Recipe> kLinearRecipes = kLinear;
const std::span<const Recipe> kNormRecipes = kNorm;
const std::span<const Recipe> kWindowRecipes = kWindow;

}  // namespace ec::fuzz
