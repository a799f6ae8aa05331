// Reductions, index of the extreme, running sums and the largest k.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

ReduceAttrs reduce_attrs(NodeContext& ctx) {
  ReduceAttrs attrs;
  attrs.keep_dims = ctx.attr_bool("keepdims", true);
  return attrs;
}

template <OpKind kKind>
Status reduce_by_attribute(NodeContext& ctx) {
  const std::vector<int64_t> axes = ctx.attr_ints("axes");
  return ctx.finish(kKind, {ctx.in(0), axes.empty() ? nullptr : ctx.ints(axes)}, reduce_attrs(ctx));
}

template <OpKind kKind>
Status reduce(NodeContext& ctx) {
  ReduceAttrs attrs = reduce_attrs(ctx);
  attrs.noop_with_empty_axes = ctx.attr_bool("noop_with_empty_axes", false);
  return ctx.finish(kKind, ctx.tensors(), attrs);
}

template <OpKind kKind>
Status arg_reduce(NodeContext& ctx) {
  ArgReduceAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 0);
  attrs.keep_dims = ctx.attr_bool("keepdims", true);
  attrs.select_last = ctx.attr_bool("select_last_index", false);
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

template <OpKind kKind>
Status cumulative(NodeContext& ctx) {
  CumulativeAttrs attrs;
  attrs.exclusive = ctx.attr_bool("exclusive", false);
  attrs.reverse = ctx.attr_bool("reverse", false);
  return ctx.finish(kKind, ctx.tensors(), attrs);
}

Status top_k_to(NodeContext& ctx, ec::Tensor* k) {
  TopKAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  attrs.largest = ctx.attr_bool("largest", true);
  attrs.sorted = ctx.attr_bool("sorted", true);
  EC_TRY(Operation * op, ctx.add_op(OpKind::TopK, {ctx.in(0), k}, attrs, 2));
  ctx.set(0, op->output(0));
  ctx.set(1, op->output(1));
  return {};
}

Status top_k_by_attribute(NodeContext& ctx) { return top_k_to(ctx, ctx.ints({ctx.attr_int("k")})); }
Status top_k(NodeContext& ctx) { return top_k_to(ctx, ctx.in(1)); }

constexpr Arity k1{1, 1}, k2{2, 2}, k1to2{1, 2};

constexpr OpRow kRows[] = {
    {"ReduceSum", 1, 12, k1, k1, reduce_by_attribute<OpKind::ReduceSum>},
    {"ReduceSum", 13, kLatest, k1to2, k1, reduce<OpKind::ReduceSum>},
    {"ReduceMean", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceMean>},
    {"ReduceMean", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceMean>},
    {"ReduceMax", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceMax>},
    {"ReduceMax", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceMax>},
    {"ReduceMin", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceMin>},
    {"ReduceMin", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceMin>},
    {"ReduceProd", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceProd>},
    {"ReduceProd", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceProd>},
    {"ReduceL1", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceL1>},
    {"ReduceL1", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceL1>},
    {"ReduceL2", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceL2>},
    {"ReduceL2", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceL2>},
    {"ReduceLogSum", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceLogSum>},
    {"ReduceLogSum", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceLogSum>},
    {"ReduceLogSumExp", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceLogSumExp>},
    {"ReduceLogSumExp", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceLogSumExp>},
    {"ReduceSumSquare", 1, 17, k1, k1, reduce_by_attribute<OpKind::ReduceSumSquare>},
    {"ReduceSumSquare", 18, kLatest, k1to2, k1, reduce<OpKind::ReduceSumSquare>},
    {"ArgMax", 1, kLatest, k1, k1, arg_reduce<OpKind::ArgMax>},
    {"ArgMin", 1, kLatest, k1, k1, arg_reduce<OpKind::ArgMin>},
    {"CumSum", 11, kLatest, k2, k1, cumulative<OpKind::CumSum>},
    {"CumProd", 26, kLatest, k2, k1, cumulative<OpKind::CumProd>},
    {"TopK", 1, 9, k1, k2, top_k_by_attribute},
    {"TopK", 10, kLatest, k2, k2, top_k},
};

}  // namespace

const std::span<const OpRow> kReduceRows = kRows;

}  // namespace ec::onnx
