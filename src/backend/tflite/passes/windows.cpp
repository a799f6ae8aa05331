// Convolutions and pools over two spatial dimensions with pads that are SAME or VALID; pools that
// TFLite has no operator for.
#include "backend/tflite/passes/windows.h"
#include "passes/tables.h"

#include <algorithm>
#include <limits>

#include "backend/tflite/passes/rules.h"
#include "ops/same_padding.h"
#include "passes/replacement.h"

namespace ec::passes {

bool is_channels_last(const Operation* op) {
  if (op->attrs().is<ConvAttrs>()) return op->attrs_as<ConvAttrs>().layout == Layout::ChannelsLast;
  if (op->attrs().is<ConvTransposeAttrs>())
    return op->attrs_as<ConvTransposeAttrs>().layout == Layout::ChannelsLast;
  if (op->attrs().is<LpPoolAttrs>())
    return op->attrs_as<LpPoolAttrs>().layout == Layout::ChannelsLast;
  return op->attrs_as<PoolAttrs>().layout == Layout::ChannelsLast;
}

namespace {

// [N, spatial..., C]: the pads of the spatial dimensions as those of all.
std::vector<int64_t> all_pads(std::span<const WindowDim> windows) {
  std::vector<int64_t> begin{0}, end{0};
  for (const WindowDim& w : windows) {
    begin.push_back(w.pad_begin);
    // What the last window needs: rounding up may need more than the pads, or less.
    end.push_back(
        std::max<int64_t>(0, (w.output - 1) * w.stride + w.extent() - w.input - w.pad_begin));
  }
  begin.push_back(0), end.push_back(0);
  begin.insert(begin.end(), end.begin(), end.end());
  return begin;
}

template <class A>
void remove_pads(Attrs& attrs) {
  A& edited = attrs.edit<A>();
  edited.pads.clear();
  edited.auto_pad = AutoPad::Explicit;
  if constexpr (requires { edited.ceil_mode; }) edited.ceil_mode = false;
}

std::optional<std::vector<WindowDim>> windows_of(const Operation* op, const WindowSpec& spec) {
  const auto sizes = static_shape(op->input(0));
  if (!sizes || sizes->size() != spec.rank() + 2) return std::nullopt;
  return resolve_windows(spec, std::span(*sizes).subspan(1, spec.rank()));
}

// The pads of all dimensions that make a window VALID; nothing where it is SAME or VALID as it
// stands. Along open dimensions they are the pads that the model states, whatever the size is.
std::optional<std::vector<int64_t>> needed_pads(const Operation* op, const WindowSpec& spec) {
  if (const auto windows = windows_of(op, spec)) {
    if (padding_scheme(*windows) != PaddingScheme::Other) return std::nullopt;
    return all_pads(*windows);
  }
  const auto& shape = op->input(0)->shape();
  if (!shape || shape->rank() != spec.rank() + 2 || static_shape(op->input(0))) return std::nullopt;
  if (spec.auto_pad != AutoPad::Explicit || spec.ceil_mode) return std::nullopt;
  const std::span spatial = std::span(shape->dims()).subspan(1, spec.rank());
  if (padding_scheme(spec, spatial) != PaddingScheme::Other) return std::nullopt;
  const auto middle = spec.pads.begin() + static_cast<std::ptrdiff_t>(spec.rank());
  std::vector<int64_t> pads{0};
  pads.insert(pads.end(), spec.pads.begin(), middle);
  pads.insert(pads.end(), {0, 0});
  pads.insert(pads.end(), middle, spec.pads.end());
  pads.push_back(0);
  return pads;
}

Result<bool> pad_conv(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const auto weights = static_shape(op->input(1));
  if (!is_channels_last(op) || !weights || weights->size() < 4) return false;
  const auto pads =
      needed_pads(op, window_spec(attrs, std::span(*weights).subspan(1, weights->size() - 2)));
  if (!pads) return false;
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = p.pad(inputs[0], *pads);
  Attrs plain = op->attrs();
  remove_pads<ConvAttrs>(plain);
  return p.replace(p.op(OpKind::Conv, std::move(inputs), std::move(plain)));
}

Result<bool> pad_max_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  if (!is_channels_last(op) || has_quant(op) || op->outputs().size() != 1) return false;
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  const auto pads = needed_pads(op, spec);
  if (!pads) return false;
  Replacement p(r, op);
  // Behind a relu nothing is below zero, which needs no special filler.
  const Operation* before = op->input(0)->producer();
  const auto windows = windows_of(op, spec);
  const bool positive = before != nullptr && before->kind() == OpKind::Relu && windows &&
                        std::all_of(windows->begin(), windows->end(), [](const WindowDim& w) {
                          return w.pad_begin < w.kernel && w.pad_end < w.kernel;
                        });
  Tensor* x = positive ? p.pad(op->input(0), *pads)
                       : p.pad(op->input(0), *pads, -double{std::numeric_limits<float>::max()});
  Attrs plain = op->attrs();
  remove_pads<PoolAttrs>(plain);
  return p.replace(p.op(OpKind::MaxPool, {x}, std::move(plain)));
}

// How many elements of the window count, at each position along one dimension.
std::vector<double> counts(const WindowDim& w, bool include_pads) {
  std::vector<double> result;
  for (int64_t o = 0; o < w.output; ++o) {
    int64_t n = 0;
    for (int64_t k = 0; k < w.kernel; ++k) {
      const int64_t at = o * w.stride - w.pad_begin + k * w.dilation;
      n += include_pads ? (at < w.input + w.pad_end) : (at >= 0 && at < w.input);
    }
    result.push_back(static_cast<double>(std::max<int64_t>(n, 1)));
  }
  return result;
}

// Zeros around, the mean of whole windows, and a constant factor where fewer elements count.
Result<bool> pad_avg_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  if (!is_channels_last(op) || has_quant(op) || rank_of(op->input(0)) != 4) return false;
  const auto windows = windows_of(op, window_spec(attrs, attrs.kernel));
  if (!windows) return false;
  const PaddingScheme scheme = padding_scheme(*windows);
  const bool padded = std::any_of(windows->begin(), windows->end(), [](const WindowDim& w) {
    return w.pad_begin > 0 || (w.output - 1) * w.stride + w.extent() > w.input;
  });
  if (scheme == PaddingScheme::Valid || (scheme == PaddingScheme::Same && !attrs.count_include_pad))
    return false;
  if (!fits_table((*windows)[0].output, (*windows)[1].output)) return false;
  Replacement p(r, op);
  Tensor* x = p.pad(op->input(0), all_pads(*windows));
  Attrs plain = op->attrs();
  remove_pads<PoolAttrs>(plain);
  plain.edit<PoolAttrs>().count_include_pad = false;
  Tensor* y = p.op(OpKind::AvgPool, {x}, std::move(plain));
  const WindowDim &h = (*windows)[0], &w = (*windows)[1];
  const auto rows = counts(h, attrs.count_include_pad),
             columns = counts(w, attrs.count_include_pad);
  const auto area = static_cast<double>(h.kernel * w.kernel);
  std::vector<float> factors;
  for (const double row : rows)
    for (const double column : columns)
      factors.push_back(static_cast<float>(area / (row * column)));
  const bool uniform = std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; });
  if (padded && !uniform) y = p.mul(y, p.floats(Shape{1, h.output, w.output, 1}, factors));
  return p.replace(y);
}

template <OpKind kReduction>
Result<bool> global_pool(Rewriter& r, Operation* op) {
  if (has_quant(op) || !rank_of(op->input(0))) return false;
  const Layout layout = op->attrs_as<GlobalPoolAttrs>().layout;
  std::vector<int64_t> axes;
  for (size_t d = 0; d + 2 < *rank_of(op->input(0)); ++d)
    axes.push_back(static_cast<int64_t>(spatial_axis(layout, d)));
  Replacement p(r, op);
  return p.replace(p.reduce(kReduction, op->input(0), axes));
}

// (mean(|x|^p) * area)^(1/p)
Result<bool> expand_lp_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<LpPoolAttrs>();
  // Higher powers of usual numbers leave the range of floats on the way.
  constexpr int64_t kHighestPower = 8;
  if (has_quant(op) || attrs.p < 1 || attrs.p > kHighestPower) return false;
  PoolAttrs pool{.kernel = attrs.kernel,
                 .strides = attrs.strides,
                 .dilations = attrs.dilations,
                 .pads = attrs.pads,
                 .auto_pad = attrs.auto_pad,
                 .ceil_mode = attrs.ceil_mode,
                 .count_include_pad = true,
                 .layout = attrs.layout};
  double area = 1;
  for (const int64_t k : attrs.kernel) area *= static_cast<double>(k);
  if (attrs.ceil_mode) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const auto exponent = static_cast<double>(attrs.p);
  if (attrs.p == 2)
    return p.replace(
        p.unary(OpKind::Sqrt, p.mul(p.op(OpKind::AvgPool, {p.mul(x, x)}, pool), area)));
  x = p.unary(OpKind::Abs, x);
  if (attrs.p == 1) return p.replace(p.mul(p.op(OpKind::AvgPool, {x}, pool), area));
  x = p.op(OpKind::Pow, {x, p.number(x, exponent)});
  x = p.mul(p.op(OpKind::AvgPool, {x}, pool), area);
  return p.replace(p.op(OpKind::Pow, {x, p.number(x, 1 / exponent)}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, pad_conv, "explicit pads"},
    {OpKind::MaxPool, pad_max_pool, "explicit pads"},
    {OpKind::AvgPool, pad_avg_pool, "explicit pads"},
    {OpKind::GlobalAvgPool, global_pool<OpKind::ReduceMean>, "global pools"},
    {OpKind::GlobalMaxPool, global_pool<OpKind::ReduceMax>, "global pools"},
    {OpKind::LpPool, expand_lp_pool, "norm pools"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteWindows = kRules;

}  // namespace ec::passes
