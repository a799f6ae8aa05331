#include "frontend/onnx/broadcast.h"

namespace ec::onnx {

Result<ec::Tensor*> legacy_broadcast(NodeContext& ctx, ec::Tensor* a, ec::Tensor* b) {
  const bool broadcast = ctx.attr_bool("broadcast", false);
  if (!broadcast || !ctx.has_attr("axis")) return b;
  if (!a->shape() || !b->shape())
    return ctx.fail(Code::DynamicShape, "broadcasting from an axis needs known ranks");
  const auto rank_a = static_cast<int64_t>(a->shape()->rank());
  const auto rank_b = static_cast<int64_t>(b->shape()->rank());
  int64_t axis = ctx.attr_int("axis", 0);
  if (axis < 0) axis += rank_a;
  const int64_t after = rank_a - axis - rank_b;
  if (axis < 0 || axis > rank_a || after < 0)
    return ctx.fail(Code::BadAttribute, "attribute 'axis' does not fit the shapes " +
                                            a->shape()->text() + " and " + b->shape()->text());
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < after; ++i) axes.push_back(rank_b + i);
  return ctx.unsqueeze(b, axes);
}

}  // namespace ec::onnx
