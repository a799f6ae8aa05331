// simplify-reshapes: chains of reshape, flatten, squeeze and unsqueeze become one or none.
//
//   unsqueeze(squeeze(%x, 1), 1) -> %x       flatten(reshape(%x)) -> reshape(%x)
//   squeeze(reduce_mean(%x, 1), 1) -> reduce_mean(%x, 1) {keep_dims=false}
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec::passes {
namespace {

// view(view(x)): the elements keep their order, so only the last shape counts.
Result<bool> merge_views(Rewriter& rewriter, Operation* op) {
  const Operation* inner = op->input(0)->producer();
  if (!is_view(inner) || !op->output()->shape()) return false;
  Tensor* x = inner->input(0);
  if (!Rewriter::interchangeable(op->output(), x)) return false;
  if (same_shape(x, op->output())) {
    rewriter.replace(op, x);
    return true;
  }
  EC_TRY(Tensor * result, add_reshape(rewriter, x, *op->output()->shape(), {inner, op}));
  if (result == nullptr) return false;
  rewriter.replace(op, result);
  return true;
}

bool is_reduction(const Operation* op) {
  if (op == nullptr) return false;
  switch (op->kind()) {
    case OpKind::ReduceSum:
    case OpKind::ReduceMean:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
    case OpKind::ReduceProd:
    case OpKind::ReduceL1:
    case OpKind::ReduceL2:
    case OpKind::ReduceLogSum:
    case OpKind::ReduceLogSumExp:
    case OpKind::ReduceSumSquare:
      return true;
    default:
      return false;
  }
}

// A view that removes or restores the dimensions of a reduction: the reduction does that itself.
Result<bool> merge_into_reduction(Rewriter& rewriter, Operation* op) {
  Operation* reduction = op->input(0)->producer();
  if (!is_reduction(reduction) || !has_single_use(op->input(0))) return false;
  if (!Rewriter::interchangeable(op->output(), op->input(0))) return false;
  const auto axes = reduce_axes(reduction);
  const auto& shape = reduction->input(0)->shape();
  if (!axes || axes->empty() || !shape || !op->output()->shape()) return false;
  ReduceAttrs attrs = reduction->attrs_as<ReduceAttrs>();
  attrs.keep_dims = !attrs.keep_dims;
  Shape other;
  for (size_t i = 0, next = 0; i < shape->rank(); ++i) {
    const bool reduced = next < axes->size() && (*axes)[next] == static_cast<int64_t>(i);
    if (reduced) ++next;
    if (!reduced)
      other.push_back((*shape)[i]);
    else if (attrs.keep_dims)
      other.push_back(1);
  }
  if (!same_shape(other, *op->output()->shape())) return false;
  EC_TRY(Tensor * result,
         rewriter.add(reduction->kind(), reduction->inputs(), attrs, {reduction, op}));
  rewriter.replace(op, result);
  return true;
}

// gather(x, [i]) without the axis is gather(x, i).
Result<bool> merge_into_gather(Rewriter& rewriter, Operation* op) {
  Operation* gather = produced_by(op->input(0), OpKind::Gather);
  if (gather == nullptr || !has_single_use(op->input(0)) || !op->output()->shape()) return false;
  if (!Rewriter::interchangeable(op->output(), op->input(0))) return false;
  const Tensor* index = gather->input(1);
  const auto& shape = gather->input(0)->shape();
  if (!is_constant(index) || rank_of(index) != 1 || !shape) return false;
  const auto values = int_values(index);
  if (!values || values->size() != 1) return false;
  const auto axis = positive_axis(gather->attrs_as<GatherAttrs>().axis, shape->rank());
  Shape without;
  for (size_t i = 0; i < shape->rank(); ++i)
    if (static_cast<int64_t>(i) != axis) without.push_back((*shape)[i]);
  if (!same_shape(without, *op->output()->shape())) return false;
  Tensor* scalar = rewriter.scalar(index->dtype(), static_cast<double>(values->front()));
  EC_TRY(Tensor * result,
         rewriter.add(OpKind::Gather, {gather->input(0), scalar}, gather->attrs(), {gather, op}));
  rewriter.replace(op, result);
  return true;
}

// gather(x, [0, 1, 2, ...]) of a vector takes everything in order: exporters write strided
// views in this form.
Result<bool> gather_of_everything(Rewriter& rewriter, Operation* op) {
  const auto sizes = static_shape(op->input(0));
  if (!sizes || sizes->size() != 1 || has_quant(op) || !op->output()->shape()) return false;
  if (!is_constant(op->input(1)) || op->input(1)->type().num_elements() != sizes->front())
    return false;
  const auto indices = int_values(op->input(1));
  if (!indices) return false;
  for (size_t i = 0; i < indices->size(); ++i)
    if ((*indices)[i] != static_cast<int64_t>(i)) return false;
  EC_TRY(Tensor * result, add_reshape(rewriter, op->input(0), *op->output()->shape(), {op}));
  if (result == nullptr) return false;
  rewriter.replace(op, result);
  return true;
}

template <OpKind kKind>
constexpr RewriteRule rules_of(int which) {
  if (which == 0) return {kKind, merge_views, "chains merged"};
  if (which == 1) return {kKind, merge_into_reduction, "merged into reductions"};
  return {kKind, merge_into_gather, "merged into gathers"};
}

constexpr RewriteRule kRules[] = {
    rules_of<OpKind::Reshape>(0),   rules_of<OpKind::Reshape>(1),
    rules_of<OpKind::Reshape>(2),   rules_of<OpKind::Flatten>(0),
    rules_of<OpKind::Flatten>(1),   rules_of<OpKind::Flatten>(2),
    rules_of<OpKind::Squeeze>(0),   rules_of<OpKind::Squeeze>(1),
    rules_of<OpKind::Squeeze>(2),   rules_of<OpKind::Unsqueeze>(0),
    rules_of<OpKind::Unsqueeze>(1), {OpKind::Gather, gather_of_everything, "gathers of everything"},
};

}  // namespace

const PassInfo kSimplifyReshapesPass{
    .name = "simplify-reshapes",
    .summary = "Merges chains of reshape, flatten, squeeze and unsqueeze into one or none.",
    .details =
        "The last shape of a chain counts. Open sizes are kept when at most one of them has to be "
        "computed. A view that drops or restores the reduced dimensions of a reduction becomes its "
        "keep_dims attribute. A gather of all of a vector in order is a reshape.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kSimplifyReshapesPass.name, kRules);
    }};

}  // namespace ec::passes
