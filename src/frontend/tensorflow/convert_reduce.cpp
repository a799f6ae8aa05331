// Reductions, sums along an axis, positions of extremes, order.
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

template <OpKind kKind>
Status reduce(OpContext& ctx) {
  ReduceAttrs attrs;
  attrs.keep_dims = ctx.attr_bool("keep_dims");
  attrs.noop_with_empty_axes = true;
  EC_TRY(ec::Tensor * axes, ctx.as_i64(1));
  return ctx.finish(kKind, {ctx.in(0), axes}, attrs);
}

template <OpKind kKind>
Status arg_extreme(OpContext& ctx) {
  EC_TRY(const int64_t given, ctx.need_int(1, "dimension"));
  EC_TRY(const size_t rank, ctx.rank());
  ArgReduceAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(given, rank));
  attrs.keep_dims = false;
  EC_TRY(const DType dtype, ctx.attr_dtype("output_type", DataType::Int64));
  EC_TRY(ec::Tensor * indices, ctx.add(kKind, {ctx.in(0)}, attrs));
  EC_TRY(indices, ctx.cast(indices, dtype));
  return ctx.set(0, indices);
}

template <OpKind kKind>
Status cumulative(OpContext& ctx) {
  CumulativeAttrs attrs;
  attrs.exclusive = ctx.attr_bool("exclusive");
  attrs.reverse = ctx.attr_bool("reverse");
  return ctx.finish(kKind, {ctx.in(0), ctx.in(1)}, attrs);
}

Status top_k_of(OpContext& ctx, ec::Tensor* k) {
  TopKAttrs attrs;
  attrs.sorted = ctx.attr_bool("sorted", true);
  EC_TRY(const std::vector<ec::Tensor*> found,
         ctx.add_many(OpKind::TopK, {ctx.in(0), k}, attrs, 2));
  EC_TRY(const DType dtype, ctx.attr_dtype("index_type", DataType::Int32));
  EC_CHECK_OK(ctx.set(0, found[0]));
  EC_TRY(ec::Tensor * indices, ctx.cast(found[1], dtype));
  return ctx.set(1, indices);
}

Status top_k_v2(OpContext& ctx) {
  EC_TRY(ec::Tensor * k, ctx.as_i64(1));
  EC_TRY(k, ctx.reshape(k, {1}));
  return top_k_of(ctx, k);
}

Status top_k(OpContext& ctx) { return top_k_of(ctx, ctx.ints({ctx.attr_int("k")})); }

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {"Mean", k2, reduce<OpKind::ReduceMean>},
    {"Sum", k2, reduce<OpKind::ReduceSum>},
    {"Prod", k2, reduce<OpKind::ReduceProd>},
    {"Max", k2, reduce<OpKind::ReduceMax>},
    {"Min", k2, reduce<OpKind::ReduceMin>},
    {"Any", k2, reduce<OpKind::ReduceMax>},
    {"All", k2, reduce<OpKind::ReduceMin>},
    {"EuclideanNorm", k2, reduce<OpKind::ReduceL2>},
    {"ArgMax", k2, arg_extreme<OpKind::ArgMax>},
    {"ArgMin", k2, arg_extreme<OpKind::ArgMin>},
    {"Cumsum", k2, cumulative<OpKind::CumSum>},
    {"Cumprod", k2, cumulative<OpKind::CumProd>},
    {"TopKV2", k2, top_k_v2, Takes::Numbers, "values,indices"},
    {"TopK", k1, top_k, Takes::Numbers, "values,indices"},
};

}  // namespace

const std::span<const OpRow> kReduceRows = kRows;

}  // namespace ec::tf
