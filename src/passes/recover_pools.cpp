// recover-pools: reductions over all pixels are global pools.
//
//   reduce_mean(%x, [2,3]) -> global_avg_pool(%x)
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

constexpr RewriteRule kRules[] = {
    {OpKind::ReduceMean, global_pool<OpKind::GlobalAvgPool>, "global_avg_pool"},
    {OpKind::ReduceMax, global_pool<OpKind::GlobalMaxPool>, "global_max_pool"},
};

}  // namespace

const PassInfo kRecoverPoolsPass{
    .name = "recover-pools",
    .summary = "Turns reductions over all pixels of an image into global pools.",
    .details =
        "Mean and maximum over dimensions 2 and 3 of four; where they are dropped, a squeeze "
        "follows.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverPoolsPass.name, kRules);
    }};

}  // namespace ec::passes
