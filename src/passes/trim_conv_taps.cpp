// trim-conv-taps: rows and columns of a filter that only ever meet padding are dropped.
//
//   conv(f32[1,8,8,C], f32[O,3,3,C]) {dilations=[12,12], pads=[12,12,12,12]}
//     -> conv(f32[1,8,8,C], f32[O,1,1,C]) {pads=[0,0,0,0]}
//
// Networks that look far around (dilations of 12 to 36 in segmentation) on a small image multiply
// by zeros most of the time.
#include <algorithm>
#include <cmath>

#include "ops/window.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

struct Taps {
  int64_t first = 0, last = 0;
};

// Whether output elements o * stride - pad + k * dilation of some o lie in the image.
bool meets_image(const WindowDim& w, int64_t k) {
  const int64_t low = k * w.dilation - w.pad_begin;
  // The smallest o whose element is not before the image.
  const int64_t o = low >= 0 ? 0 : (-low + w.stride - 1) / w.stride;
  return o < w.output && o * w.stride + low < w.input;
}

// The first and last tap that meet the image; nothing when none does.
std::optional<Taps> useful_taps(const WindowDim& w) {
  std::optional<Taps> taps;
  for (int64_t k = 0; k < w.kernel; ++k) {
    if (!meets_image(w, k)) continue;
    if (!taps) taps = Taps{k, k};
    taps->last = k;
  }
  return taps;
}

// All values are finite: zero times infinity would not be zero.
bool is_finite(const Tensor* weights) {
  return std::ranges::all_of(weights->values<float>(), [](float v) { return std::isfinite(v); });
}

Result<bool> trim(Rewriter& rewriter, Operation* op) {
  ConvAttrs attrs = op->attrs_as<ConvAttrs>();
  Tensor* weights = op->input(1);
  const auto image = static_shape(op->input(0)), filter = static_shape(weights);
  if (!image || !filter || !weights->is_constant() || weights->dtype() != DType::F32 ||
      has_quant(op) || attrs.auto_pad != AutoPad::Explicit)
    return false;
  const std::vector<int64_t> kernel = spatial_sizes(attrs.layout, *filter);
  const WindowSpec spec = window_spec(attrs, kernel);
  const auto windows = resolve_windows(spec, spatial_sizes(attrs.layout, *image));
  std::vector<int64_t> pads = spec.pads, starts, ends, axes;
  const size_t spatial = kernel.size();
  for (size_t d = 0; d < spatial; ++d) {
    const WindowDim& w = windows[d];
    const auto taps = w.output < 1 ? std::nullopt : useful_taps(w);
    if (!taps) return false;
    const int64_t begin = pads[d] - taps->first * w.dilation;
    const int64_t end = pads[d + spatial] - (w.kernel - 1 - taps->last) * w.dilation;
    const bool whole = taps->first == 0 && taps->last == w.kernel - 1;
    if (whole || begin < 0 || end < 0) continue;
    pads[d] = begin;
    pads[d + spatial] = end;
    starts.push_back(taps->first);
    ends.push_back(taps->last + 1);
    axes.push_back(static_cast<int64_t>(spatial_axis(attrs.layout, d)));
  }
  if (axes.empty() || !is_finite(weights)) return false;
  Graph& graph = op->graph();
  EC_TRY(Tensor * trimmed,
         rewriter.add_folded(OpKind::Slice, {weights, graph.add_ints("", starts),
                                             graph.add_ints("", ends), graph.add_ints("", axes)}));
  attrs.pads = std::move(pads);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[1] = trimmed;
  OpSpec spec_of;
  spec_of.attrs = std::move(attrs);
  spec_of.location = Rewriter::merged({op});
  EC_TRY(const Operation* result,
         rewriter.add_op(OpKind::Conv, std::move(inputs), std::move(spec_of)));
  rewriter.replace(op, result->output());
  return true;
}

constexpr RewriteRule kRules[] = {{OpKind::Conv, trim, "filters trimmed"}};

}  // namespace

const PassInfo kTrimConvTapsPass{
    .name = "trim-conv-taps",
    .summary = "Drops rows and columns of filters that only ever meet padding.",
    .details =
        "A dilated convolution on a small image reads zeros with most of its taps; the others "
        "stay.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kTrimConvTapsPass.name, kRules);
    }};

}  // namespace ec::passes
