// Quantised convolutions and matrix products on bytes, bit by bit as the integer kernels of the op
// table compute them. Forms that are not taken here run those.
#include "runtime/prepare/integer_parts.h"

namespace ec::prepare {
namespace {

// Tables of sources beyond this cost more memory than they save time.
constexpr int64_t kMaxSources = int64_t{1} << 22;

bool is_weighted(const OpInstance& op) {
  return all_bytes(op) && op.input(1).constant != nullptr && !op.has(3);
}

}  // namespace

Prepared integer_conv(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<ConvAttrs>();
  if (!is_weighted(op) || attrs.layout != Layout::ChannelsLast || op.input(0).rank() != 4)
    return nullptr;
  const auto& x = op.input(0).shape;
  const auto& w = op.input(1).shape;
  const auto& y = op.output().shape;
  const auto windows = resolve_windows(window_spec(attrs, spatial_sizes(attrs.layout, w)),
                                       spatial_sizes(attrs.layout, x));
  const Window window{x[1], x[2], y[1], y[2], windows[0], windows[1]};
  if (window.pixels() * window.taps() > kMaxSources) return nullptr;
  const auto weights = weights_of(op, w[0], w[1] * w[2], w[3]);
  const Output output{attrs.activation, attrs.act_alpha, attrs.act_beta};
  const auto in = params_of(op.op.input(0));
  if (!in || !weights) return nullptr;
  const bool depthwise = attrs.groups > 1 && attrs.groups == x[3] && y[3] == x[3];
  if (attrs.groups != 1 && (!depthwise || weights->taps > kMaxDepthwiseTaps)) return nullptr;
  // The dense kernel reads x + 128 as unsigned bytes, the depthwise one the bytes as they are.
  auto stage = weighted_stage(op, *weights, depthwise ? 0 : 128, output);
  if (!stage) return nullptr;
  WeightedSum sum{window, x[0], *weights, std::move(*stage), in->zero_point, op.input(0).dtype};
  return (depthwise ? integer_depthwise : integer_product)(ctx, std::move(sum));
}

Prepared integer_gemm(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<GemmAttrs>();
  const auto in = params_of(op.op.input(0));
  if (!is_weighted(op) || !in || attrs.transpose_a || !attrs.transpose_b || attrs.alpha != 1.0F ||
      attrs.beta != 1.0F)
    return nullptr;
  if (op.input(0).shape[0] > kMaxSources) return nullptr;
  const auto& w = op.input(1).shape;
  const auto weights = weights_of(op, w[0], 1, w[1]);
  if (!weights) return nullptr;
  auto stage =
      weighted_stage(op, *weights, 128, {attrs.activation, attrs.act_alpha, attrs.act_beta});
  if (!stage) return nullptr;
  const double out_scale = params_of(op.op.output(0))->scale;
  const auto& scales = op.op.input(1)->type().quant->scales;
  std::vector<double> reals;
  for (size_t c = 0; c < static_cast<size_t>(w[0]); ++c)
    reals.push_back(in->scale * double{scales[scales.size() > 1 ? c : 0]} / out_scale);
  stage->set_reals(std::move(reals));
  // Rows are pixels of an image one high.
  WindowDim one, across;
  one.input = one.output = 1;
  across.input = across.output = op.input(0).shape[0];
  const Window window{1, across.input, 1, across.output, one, across};
  return integer_product(
      ctx, {window, 1, *weights, std::move(*stage), in->zero_point, op.input(0).dtype});
}

}  // namespace ec::prepare
