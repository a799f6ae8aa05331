// recover-pools: reductions over all pixels, and pools with one window over all of them, are global
// pools.
//
//   reduce_mean(%x, [2,3])          -> global_avg_pool(%x)
//   avg_pool(%x) {kernel=[H,W]}     -> global_avg_pool(%x)
#include "ops/window.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

template <OpKind kPool>
Result<bool> global_pool(Rewriter& rewriter, Operation* op) {
  const auto rank = rank_of(op->input(0));
  const auto axes = reduce_axes(op);
  if (rank != size_t{4} || axes != std::vector<int64_t>{2, 3} || has_quant(op)) return false;
  if (!is_float(op->output()->dtype()) || !op->output()->shape()) return false;
  EC_TRY(Tensor * result, rewriter.add(kPool, {op->input(0)}, GlobalPoolAttrs{}, {op}));
  if (!op->attrs_as<ReduceAttrs>().keep_dims) {
    EC_TRY(result, rewriter.add(OpKind::Squeeze, {result, rewriter.ints({2, 3})}, NoAttrs{}, {op}));
  }
  rewriter.replace(op, result);
  return true;
}

// One operation for both, so that back ends treat them alike. Integer pools of TFLite keep the
// scale of their input, which is too coarse for the mean of a whole image; a reduction has a scale
// of its own.
Result<bool> whole_image(Rewriter& rewriter, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  const auto sizes = static_shape(op->input(0));
  if (!sizes || sizes->size() != attrs.kernel.size() + 2 || has_quant(op)) return false;
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  for (size_t d = 0; d < spec.rank(); ++d) {
    const WindowDim w = resolve_window(spec, d, (*sizes)[spatial_axis(attrs.layout, d)]);
    const bool padded = w.pad_begin != 0 || w.pad_end != 0;
    if (w.output != 1 || w.kernel != w.input || w.dilation != 1 || padded) return false;
  }
  EC_TRY(Tensor * result,
         rewriter.add(OpKind::GlobalAvgPool, {op->input(0)}, GlobalPoolAttrs{attrs.layout}, {op}));
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::AvgPool, whole_image, "window over the whole image"},
    {OpKind::ReduceMean, global_pool<OpKind::GlobalAvgPool>, "global_avg_pool"},
    {OpKind::ReduceMax, global_pool<OpKind::GlobalMaxPool>, "global_max_pool"},
};

}  // namespace

const PassInfo kRecoverPoolsPass{
    .name = "recover-pools",
    .summary = "Turns reductions and average pools over all pixels of an image into global pools.",
    .details =
        "Mean and maximum over dimensions 2 and 3 of four; where they are dropped, a squeeze "
        "follows. An average pool whose one window is the image, without padding.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverPoolsPass.name, kRules);
    }};

}  // namespace ec::passes
