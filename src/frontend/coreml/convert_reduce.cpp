// Reductions, positions of extremes, running sums, and orders of elements.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

template <OpKind kKind>
Tensors reduce(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.reduce(kKind, x, c.axes_of(x, "axes"), c.flag("keep_dims", false))};
}

template <OpKind kKind>
Tensors arg_reduce(OpCall& c) {
  Tensor* x = c.in("x");
  ArgReduceAttrs attrs;
  attrs.axis = c.axis_of(x, "axis", -1);
  attrs.keep_dims = c.flag("keep_dims", false);
  return {c.add(kKind, {x}, attrs)};
}

Tensors cumsum(OpCall& c) {
  Tensor* x = c.in("x");
  CumulativeAttrs attrs;
  attrs.exclusive = c.flag("exclusive", false);
  attrs.reverse = c.flag("reverse", false);
  Tensor* axis = c.scalar(DType::I64, static_cast<double>(c.axis_of(x, "axis", 0)));
  return {c.add(OpKind::CumSum, {x, axis}, attrs)};
}

Tensors top_k(OpCall& c, Tensor* k, bool largest, bool sorted) {
  Tensor* x = c.in("x");
  TopKAttrs attrs;
  attrs.axis = c.axis_of(x, "axis", -1);
  attrs.largest = largest;
  attrs.sorted = sorted;
  return c.add_many(OpKind::TopK, {x, k}, attrs, 2);
}

Tensors topk(OpCall& c) {
  Tensor* k = c.has("k") ? c.as_i64(c.in("k")) : c.int_list({1});
  return top_k(c, k, !c.flag("ascending", false), c.flag("sort", true));
}

Tensors argsort(OpCall& c) {
  Tensor* x = c.in("x");
  Tensor* k = c.shape_list({Size(x, c.axis_of(x, "axis", -1))});
  const Tensors sorted = top_k(c, k, !c.flag("ascending", false), true);
  return {sorted.back()};
}

constexpr std::string_view kReduce = "x axes? keep_dims?";
constexpr std::string_view kArg = "x axis? keep_dims? output_dtype?";

constexpr OpRow kRows[] = {
    {"reduce_sum", kIos15, kReduce, reduce<OpKind::ReduceSum>},
    {"reduce_mean", kIos15, kReduce, reduce<OpKind::ReduceMean>},
    {"reduce_max", kIos15, kReduce, reduce<OpKind::ReduceMax>},
    {"reduce_min", kIos15, kReduce, reduce<OpKind::ReduceMin>},
    {"reduce_prod", kIos15, kReduce, reduce<OpKind::ReduceProd>},
    {"reduce_l1_norm", kIos15, kReduce, reduce<OpKind::ReduceL1>},
    {"reduce_l2_norm", kIos15, kReduce, reduce<OpKind::ReduceL2>},
    {"reduce_log_sum", kIos15, kReduce, reduce<OpKind::ReduceLogSum>},
    {"reduce_log_sum_exp", kIos15, kReduce, reduce<OpKind::ReduceLogSumExp>},
    {"reduce_sum_square", kIos15, kReduce, reduce<OpKind::ReduceSumSquare>},
    {"reduce_argmax", kIos15, kArg, arg_reduce<OpKind::ArgMax>},
    {"reduce_argmin", kIos15, kArg, arg_reduce<OpKind::ArgMin>},
    {"cumsum", kIos15, "x axis? exclusive? reverse?", cumsum},
    {"topk", kIos15, "x k? axis? ascending? sort? return_indices? output_indices_dtype?", topk},
    {"argsort", kIos15, "x axis? ascending?", argsort},
};

}  // namespace

const std::span<const OpRow> kReduceRows = kRows;

}  // namespace ec::mil
