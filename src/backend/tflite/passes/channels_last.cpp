// Operations on images that the layout pass left with their channels first, because transposing
// them costs more transposes than it saves. TFLite has them with the channels last only.
#include "backend/tflite/passes/rules.h"
#include "passes/layout/plan.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

Result<bool> turn(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (layout::layout_of(op) != Layout::ChannelsFirst || !rank || *rank < 3 || !is_plain(op))
    return false;
  for (size_t i = 1; i < op->outputs().size(); ++i)
    if (!op->graph().is_unused(op->output(i))) return false;
  Perm perm{0};
  for (size_t d = 2; d < *rank; ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(1);
  Attrs attrs = op->attrs();
  layout::set_layout(attrs, Layout::ChannelsLast);
  Replacement p(r, op);
  Tensor* y = p.op(op->kind(), {p.transpose(op->input(0), perm)}, std::move(attrs));
  return p.replace(p.transpose(y, inverse(perm)));
}

constexpr RewriteRule kRules[] = {
    {OpKind::MaxPool, turn, "channels last"},      {OpKind::AvgPool, turn, "channels last"},
    {OpKind::LpPool, turn, "channels last"},       {OpKind::DepthToSpace, turn, "channels last"},
    {OpKind::SpaceToDepth, turn, "channels last"}, {OpKind::Lrn, turn, "channels last"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteChannelsLast = kRules;

}  // namespace ec::passes
