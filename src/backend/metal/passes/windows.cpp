// Convolutions and pools in forms that programs do not take.
#include <algorithm>
#include <limits>

#include "backend/metal/passes/rules.h"
#include "ops/window.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// A bias that is computed is added behind, by channel.
template <class Attributes>
Result<bool> split_bias(Rewriter& r, Operation* op) {
  Tensor* bias = op->input(2);
  const auto rank = rank_of(op->output());
  if (bias == nullptr || is_constant(bias) || has_quant(op) || !rank) return false;
  const auto& attrs = op->attrs_as<Attributes>();
  if (attrs.layout != Layout::ChannelsFirst || attrs.activation != Activation::None) return false;
  Replacement p(r, op);
  std::vector<int64_t> by_channel(*rank - 1, 1);
  by_channel[0] = -1;
  Tensor* y = p.op(op->kind(), {op->input(0), op->input(1)}, attrs);
  return p.replace(p.add(y, p.sized(bias, by_channel)));
}

// Channels behind the other dimensions, which the layout pass left: transposed around.
template <class Attributes>
Result<bool> channels_first(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<Attributes>();
  const auto rank = rank_of(op->input(0));
  if (attrs.layout == Layout::ChannelsFirst || has_quant(op) || !rank || op->outputs().size() != 1)
    return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<Attributes>().layout = Layout::ChannelsFirst;
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = p.transpose(inputs[0], to_channels_first(*rank));
  Tensor* y = p.op(op->kind(), std::move(inputs), std::move(plain));
  return p.replace(p.transpose(y, to_channels_last(*rank)));
}

// A pool with dilation: the largest of as many strided slices as the window has taps.
Result<bool> expand_dilated_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  if (!in || !out || has_quant(op) || attrs.layout != Layout::ChannelsFirst || spec.rank() > 2 ||
      (op->outputs().size() > 1 && !r.graph().is_unused(op->output(1))) ||
      std::ranges::all_of(spec.dilations, [](int64_t d) { return d == 1; }))
    return false;
  constexpr int64_t kMostTaps = 64;
  int64_t taps = 1;
  for (const int64_t k : spec.kernel) taps *= k;
  if (taps > kMostTaps) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  std::vector<int64_t> pads(2 * in->size(), 0);
  for (size_t d = 0; d < spec.rank(); ++d) {
    const WindowDim dim = resolve_window(spec, d, (*in)[d + 2]);
    const int64_t reach = (dim.output - 1) * dim.stride + dim.extent();
    pads[d + 2] = dim.pad_begin;
    pads[d + 2 + in->size()] = std::max<int64_t>(0, reach - dim.pad_begin - (*in)[d + 2]);
  }
  // The largest of no elements, which a window within the padding has.
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  if (std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; })) x = p.pad(x, pads, kNone);
  Tensor* result = nullptr;
  for (int64_t tap = 0; tap < taps && p.ok(); ++tap) {
    std::vector<int64_t> starts, ends, axes, steps;
    int64_t rest = tap;
    for (size_t d = spec.rank(); d-- > 0;) {
      const int64_t start = rest % spec.kernel[d] * spec.dilations[d];
      rest /= spec.kernel[d];
      axes.push_back(static_cast<int64_t>(d) + 2);
      starts.push_back(start);
      steps.push_back(spec.strides[d]);
      ends.push_back(start + ((*out)[d + 2] - 1) * spec.strides[d] + 1);
    }
    Tensor* part =
        p.op(OpKind::Slice, {x, p.ints(starts), p.ints(ends), p.ints(axes), p.ints(steps)});
    result = result == nullptr ? part : p.max(result, part);
  }
  if (op->outputs().size() == 1) return p.replace(result);
  Tensor* const results[] = {result, nullptr};
  return p.replace_all(results);
}

// Programs pool floats.
Result<bool> pool_as_floats(Rewriter& r, Operation* op) {
  const DType dtype = op->output()->dtype();
  if (has_quant(op) || !is_integer(dtype) || bit_width(dtype) > 16 || op->outputs().size() != 1)
    return false;
  Replacement p(r, op);
  Tensor* x = p.cast(op->input(0), DType::F32);
  return p.replace(p.cast(p.op(op->kind(), {x}, op->attrs()), dtype));
}

// A transposed convolution whose result reaches beyond its windows: zeros behind its input.
Result<bool> extend_transposed(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  const auto in = static_shape(op->input(0)), filter = static_shape(op->input(1));
  if (!in || !filter || has_quant(op) || attrs.layout != Layout::ChannelsFirst ||
      attrs.activation != Activation::None)
    return false;
  const WindowSpec spec = window_spec(attrs, std::span(*filter).subspan(2));
  std::vector<int64_t> pads(2 * in->size(), 0);
  ConvTransposeAttrs plain = attrs;
  plain.auto_pad = AutoPad::Explicit;
  plain.output_padding.clear();
  plain.output_sizes.clear();
  plain.pads.assign(2 * spec.rank(), 0);
  bool extends = false;
  for (size_t d = 0; d < spec.rank(); ++d) {
    const TransposedDim dim = resolve_transposed(attrs, spec, d, (*in)[d + 2]);
    int64_t input = dim.input;
    const auto end = [&] {
      return (input - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1 - dim.pad_begin -
             dim.output;
    };
    if (dim.pad_begin < 0) return false;
    while (end() < 0) ++input;
    extends = extends || input != dim.input;
    pads[in->size() + d + 2] = input - dim.input;
    plain.pads[d] = dim.pad_begin;
    plain.pads[d + spec.rank()] = end();
  }
  if (!extends) return false;
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = p.pad(inputs[0], pads);
  return p.replace(p.op(OpKind::ConvTranspose, std::move(inputs), plain));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, split_bias<ConvAttrs>, "computed biases"},
    {OpKind::ConvTranspose, split_bias<ConvTransposeAttrs>, "computed biases"},
    {OpKind::ConvTranspose, extend_transposed, "transposed convolutions"},
    {OpKind::MaxPool, expand_dilated_pool, "pools with dilation"},
    {OpKind::MaxPool, pool_as_floats, "pools of integers"},
    {OpKind::AvgPool, channels_first<PoolAttrs>, "channels first"},
    {OpKind::LpPool, channels_first<LpPoolAttrs>, "channels first"},
    {OpKind::GlobalAvgPool, channels_first<GlobalPoolAttrs>, "channels first"},
    {OpKind::GlobalMaxPool, channels_first<GlobalPoolAttrs>, "channels first"},
    {OpKind::MaxPool, channels_first<PoolAttrs>, "channels first"},
    {OpKind::BatchNorm, channels_first<BatchNormAttrs>, "channels first"},
    {OpKind::InstanceNorm, channels_first<InstanceNormAttrs>, "channels first"},
    {OpKind::GroupNorm, channels_first<GroupNormAttrs>, "channels first"},
    {OpKind::Lrn, channels_first<LrnAttrs>, "channels first"},
};

}  // namespace

const std::span<const RewriteRule> kMilWindows = kRules;

}  // namespace ec::passes
