// fuse-pads: padding in front of a convolution or pool becomes its own padding.
//
//   conv(pad(%x, [0,0,1,1,0,0,1,1]), %w) -> conv(%x, %w) {pads=[1,1,1,1]}
#include <algorithm>
#include <limits>

#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

// Pads per dimension, begins then ends, of a constant pad; nothing when they are not known.
std::optional<std::vector<int64_t>> pads_of(const Operation* pad) {
  const auto rank = rank_of(pad->input(0));
  const auto pads = int_values(pad->input(1));
  if (!rank || !pads || pad->attrs_as<PadAttrs>().mode != PadMode::Constant) return std::nullopt;
  std::vector<int64_t> all(2 * *rank, 0);
  std::vector<int64_t> axes(*rank);
  for (size_t i = 0; i < *rank; ++i) axes[i] = static_cast<int64_t>(i);
  if (pad->input(3) != nullptr) {
    const auto given = int_values(pad->input(3));
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(positive_axis(axes[i], *rank));
    if (axis >= *rank) return std::nullopt;
    all[axis] += (*pads)[i];
    all[axis + *rank] += (*pads)[i + axes.size()];
  }
  if (std::any_of(all.begin(), all.end(), [](int64_t p) { return p < 0; })) return std::nullopt;
  return all;
}

// Adds the pad's spatial part to `pads`; false when batch or channels are padded too.
bool add_spatial(const std::vector<int64_t>& all, Layout layout, std::vector<int64_t>& pads) {
  const size_t rank = all.size() / 2;
  if (rank < 3) return false;
  const size_t spatial = rank - 2;
  const size_t first = layout == Layout::ChannelsLast ? 1 : 2;
  const size_t channel = layout == Layout::ChannelsLast ? rank - 1 : 1;
  if (all[0] != 0 || all[rank] != 0 || all[channel] != 0 || all[channel + rank] != 0) return false;
  pads.resize(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    pads[i] += all[first + i];
    pads[i + spatial] += all[rank + first + i];
  }
  return true;
}

double pad_value(const Operation* pad) {
  if (pad->input(2) == nullptr) return 0;
  return splat_value(pad->input(2)).value_or(std::numeric_limits<double>::quiet_NaN());
}

const Operation* pad_before(const Operation* op) {
  const Operation* pad = produced_by(op->input(0), OpKind::Pad);
  if (pad == nullptr || !has_single_use(op->input(0)) || has_quant(pad)) return nullptr;
  return pad;
}

template <class A>
Result<bool> merge(Rewriter& rewriter, Operation* op, const Operation* pad, A attrs) {
  const auto all = pads_of(pad);
  if (!all || attrs.auto_pad != AutoPad::Explicit || !add_spatial(*all, attrs.layout, attrs.pads))
    return false;
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = pad->input(0);
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = Rewriter::merged({op, pad});
  EC_TRY(const Operation* result, rewriter.add_op(op->kind(), std::move(inputs), std::move(spec)));
  rewriter.replace(op, result->output());
  return true;
}

Result<bool> into_conv(Rewriter& rewriter, Operation* op) {
  const Operation* pad = pad_before(op);
  if (pad == nullptr || pad_value(pad) != 0) return false;
  return merge(rewriter, op, pad, op->attrs_as<ConvAttrs>());
}

// Max pools ignore their own padding: only minus infinity is the same.
Result<bool> into_max_pool(Rewriter& rewriter, Operation* op) {
  const Operation* pad = pad_before(op);
  if (pad == nullptr || op->outputs().size() != 1 || op->attrs_as<PoolAttrs>().ceil_mode)
    return false;
  const double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  if (!(pad_value(pad) <= lowest) || op->output()->dtype() != DType::F32) return false;
  const auto& attrs = op->attrs_as<PoolAttrs>();
  // A window must not lie in the padding alone.
  const auto all = pads_of(pad);
  if (!all) return false;
  std::vector<int64_t> pads = attrs.pads;
  if (!add_spatial(*all, attrs.layout, pads)) return false;
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] >= attrs.kernel[i % attrs.kernel.size()]) return false;
  return merge(rewriter, op, pad, attrs);
}

Result<bool> into_avg_pool(Rewriter& rewriter, Operation* op) {
  const Operation* pad = pad_before(op);
  if (pad == nullptr || pad_value(pad) != 0) return false;
  PoolAttrs attrs = op->attrs_as<PoolAttrs>();
  const bool own =
      std::any_of(attrs.pads.begin(), attrs.pads.end(), [](int64_t p) { return p != 0; });
  if (attrs.ceil_mode || (own && !attrs.count_include_pad)) return false;
  attrs.count_include_pad = true;
  return merge(rewriter, op, pad, std::move(attrs));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, into_conv, "into conv"},
    {OpKind::MaxPool, into_max_pool, "into max_pool"},
    {OpKind::AvgPool, into_avg_pool, "into avg_pool"},
};

}  // namespace

const PassInfo kFusePadsPass{
    .name = "fuse-pads",
    .summary = "Merges constant padding into the convolution or pool behind it.",
    .details =
        "Zeros in front of conv and avg_pool (which then counts them), minus infinity in "
        "front of max_pool; of spatial dimensions only.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kFusePadsPass.name, kRules);
    }};

}  // namespace ec::passes
