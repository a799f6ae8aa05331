// Rearrangements of image blocks: transpositions of a finer view of the shape.
#include "ops/window.h"
#include "runtime/kernels/transpose.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

Prepared permute(std::vector<int64_t> shape, std::vector<int64_t> perm, const OperandInfo& x,
                 const PrepareContext& ctx) {
  const kernels::TransposePlan plan(shape, perm, element_size(x.dtype));
  const kernels::KernelTable* table = &ctx.table;
  return make_op([plan, table](const RunArgs& args) {
    plan.run(*table, args.inputs[0], args.outputs[0], args.pool);
  });
}

}  // namespace

Prepared depth_to_space(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<DepthToSpaceAttrs>();
  const OperandInfo& x = op.input(0);
  if (x.rank() != 4) return nullptr;
  const std::vector<int64_t> s = channels_first_shape(attrs.layout, x.shape);
  const int64_t b = attrs.block;
  const int64_t c = s[1] / (b * b);
  const bool dcr = attrs.order == DepthOrder::Dcr;
  if (attrs.layout == Layout::ChannelsFirst) {
    if (dcr) return permute({s[0], b, b, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, x, ctx);
    return permute({s[0], c, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, x, ctx);
  }
  if (dcr) return permute({s[0], s[2], s[3], b, b, c}, {0, 1, 3, 2, 4, 5}, x, ctx);
  return permute({s[0], s[2], s[3], c, b, b}, {0, 1, 4, 2, 5, 3}, x, ctx);
}

Prepared space_to_depth(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<SpaceToDepthAttrs>();
  const OperandInfo& x = op.input(0);
  if (x.rank() != 4) return nullptr;
  const std::vector<int64_t> s = channels_first_shape(attrs.layout, x.shape);
  const int64_t b = attrs.block;
  const int64_t h = s[2] / b;
  const int64_t w = s[3] / b;
  const bool dcr = attrs.order == DepthOrder::Dcr;
  if (attrs.layout == Layout::ChannelsFirst) {
    if (dcr) return permute({s[0], s[1], h, b, w, b}, {0, 3, 5, 1, 2, 4}, x, ctx);
    return permute({s[0], s[1], h, b, w, b}, {0, 1, 3, 5, 2, 4}, x, ctx);
  }
  if (dcr) return permute({s[0], h, b, w, b, s[1]}, {0, 1, 3, 2, 4, 5}, x, ctx);
  return permute({s[0], h, b, w, b, s[1]}, {0, 1, 3, 5, 2, 4}, x, ctx);
}

}  // namespace ec::prepare
