// recover-depth-to-space: blocks moved between channels and pixels, written as reshape, transpose,
// reshape.
//
//   [N,C b b,H,W] -> [N,C,b,b,H,W] -> (0,1,4,2,5,3) -> [N,C,H b,W b]
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec::passes {
namespace {

using Sizes = std::vector<int64_t>;

struct Chain {
  const Operation* split = nullptr;
  const Operation* transpose = nullptr;
  Tensor* x = nullptr;
  Sizes from, middle, to;
  Perm perm;
};

// view(transpose(view(x))) with static shapes of rank 4, 6 and 4.
std::optional<Chain> chain_of(const Operation* join) {
  Chain chain;
  chain.transpose = produced_by(join->input(0), OpKind::Transpose);
  if (chain.transpose == nullptr || !has_single_use(join->input(0))) return std::nullopt;
  chain.split = chain.transpose->input(0)->producer();
  if (!is_view(chain.split) || !has_single_use(chain.transpose->input(0))) return std::nullopt;
  chain.x = chain.split->input(0);
  // The batch may be open: it is the first dimension throughout.
  const auto sizes = [](const Tensor* tensor) -> std::optional<Sizes> {
    if (!tensor->shape()) return std::nullopt;
    Sizes result;
    for (size_t i = 0; i < tensor->shape()->rank(); ++i) {
      const Dim& dim = (*tensor->shape())[i];
      if (!dim.is_static() && i > 0) return std::nullopt;
      result.push_back(dim.is_static() ? dim.size() : -1);
    }
    return result;
  };
  const auto from = sizes(chain.x), middle = sizes(chain.split->output());
  const auto to = sizes(join->output());
  const auto perm = perm_of(chain.transpose);
  if (!from || !middle || !to || !perm) return std::nullopt;
  if (from->size() != 4 || middle->size() != 6 || to->size() != 4) return std::nullopt;
  if ((*from)[0] != (*middle)[0] || (*from)[0] != (*to)[0]) return std::nullopt;
  if (has_quant(join) || has_quant(chain.split)) return std::nullopt;
  chain.from = *from;
  chain.middle = *middle;
  chain.to = *to;
  chain.perm = *perm;
  return chain;
}

std::optional<DepthToSpaceAttrs> depth_to_space_attrs(const Chain& c) {
  const Perm kDcr{0, 3, 4, 1, 5, 2}, kCrd{0, 1, 4, 2, 5, 3};
  const bool dcr = c.perm == kDcr;
  if (!dcr && c.perm != kCrd) return std::nullopt;
  const int64_t block = dcr ? c.middle[1] : c.middle[2];
  const int64_t depth = dcr ? c.middle[3] : c.middle[1];
  const int64_t other = dcr ? c.middle[2] : c.middle[3];
  if (block < 2 || other != block || c.middle[4] != c.from[2] || c.middle[5] != c.from[3])
    return std::nullopt;
  if (c.to != Sizes{c.from[0], depth, c.from[2] * block, c.from[3] * block}) return std::nullopt;
  return DepthToSpaceAttrs{.block = block, .order = dcr ? DepthOrder::Dcr : DepthOrder::Crd};
}

std::optional<SpaceToDepthAttrs> space_to_depth_attrs(const Chain& c) {
  const Perm kDcr{0, 3, 5, 1, 2, 4}, kCrd{0, 1, 3, 5, 2, 4};
  const bool dcr = c.perm == kDcr;
  if (!dcr && c.perm != kCrd) return std::nullopt;
  const int64_t block = c.middle[3];
  if (block < 2 || c.middle[5] != block || c.middle[1] != c.from[1] ||
      c.middle[2] * block != c.from[2] || c.middle[4] * block != c.from[3])
    return std::nullopt;
  if (c.to != Sizes{c.from[0], c.from[1] * block * block, c.middle[2], c.middle[4]})
    return std::nullopt;
  return SpaceToDepthAttrs{.block = block, .order = dcr ? DepthOrder::Dcr : DepthOrder::Crd};
}

Result<bool> recover(Rewriter& rewriter, Operation* op) {
  const auto chain = chain_of(op);
  if (!chain) return false;
  Tensor* result = nullptr;
  if (const auto attrs = depth_to_space_attrs(*chain)) {
    EC_TRY(result, rewriter.add(OpKind::DepthToSpace, {chain->x}, *attrs,
                                {chain->split, chain->transpose, op}));
  } else if (const auto inverse_attrs = space_to_depth_attrs(*chain)) {
    EC_TRY(result, rewriter.add(OpKind::SpaceToDepth, {chain->x}, *inverse_attrs,
                                {chain->split, chain->transpose, op}));
  } else {
    return false;
  }
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {{OpKind::Reshape, recover, "depth_to_space, space_to_depth"}};

}  // namespace

const PassInfo kRecoverDepthToSpacePass{
    .name = "recover-depth-to-space",
    .summary = "Finds depth_to_space and space_to_depth in reshape, transpose, reshape.",
    .details = "Both orders of the block within the channels; the batch may be open.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverDepthToSpacePass.name, kRules);
    }};

}  // namespace ec::passes
