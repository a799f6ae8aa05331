// Reductions, sums along an axis, positions of extremes.
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

// Axes may be one number or a list; no axes mean no reduction.
Result<ec::Tensor*> reduction_axes(OpContext& ctx) {
  if (const auto axes = known_ints(ctx.in(1))) return ctx.ints(*axes);
  EC_TRY(ec::Tensor * axes, ctx.cast(ctx.in(1), DType::I64));
  EC_TRY(const size_t rank, ctx.rank(1));
  return rank == 1 ? Result<ec::Tensor*>(axes) : ctx.reshape(axes, std::vector<int64_t>{-1});
}

template <OpKind kKind>
Status reduce(OpContext& ctx) {
  ReduceAttrs attrs;
  attrs.keep_dims = ctx.options<ReducerOptions>().keep_dims();
  attrs.noop_with_empty_axes = true;
  EC_TRY(ec::Tensor * axes, reduction_axes(ctx));
  return ctx.finish(kKind, {ctx.in(0), axes}, attrs);
}

template <OpKind kKind>
Status arg_extreme(OpContext& ctx) {
  EC_TRY(const int64_t given, ctx.need_int(1, "axis"));
  EC_TRY(const size_t rank, ctx.rank());
  ArgReduceAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(given, rank));
  attrs.keep_dims = false;
  EC_TRY(const DType dtype, ctx.out_dtype());
  EC_TRY(ec::Tensor * indices, ctx.add(kKind, {ctx.in(0)}, attrs));
  EC_TRY(indices, ctx.cast(indices, dtype));
  return ctx.set(0, indices);
}

Status cumsum(OpContext& ctx) {
  const auto& options = ctx.options<CumsumOptions>();
  CumulativeAttrs attrs;
  attrs.exclusive = options.exclusive();
  attrs.reverse = options.reverse();
  return ctx.finish(OpKind::CumSum, {ctx.in(0), ctx.in(1)}, attrs);
}

Status top_k(OpContext& ctx) {
  ec::Tensor* k = nullptr;
  if (const auto known = known_ints(ctx.in(1)); known && known->size() == 1) {
    k = ctx.ints(*known);
  } else {
    EC_TRY(k, ctx.cast(ctx.in(1), DType::I64));
    EC_TRY(k, ctx.reshape(k, std::vector<int64_t>{1}));
  }
  EC_TRY(Operation * op, ctx.add_op(OpKind::TopK, {ctx.in(0), k}, TopKAttrs{}, 2));
  EC_TRY(const DType dtype, ctx.out_dtype(1));
  EC_TRY(ec::Tensor * indices, ctx.cast(op->output(1), dtype));
  EC_CHECK_OK(ctx.set(0, op->output(0)));
  return ctx.set(1, indices);
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {BuiltinOperator::MEAN, k2, k1, reduce<OpKind::ReduceMean>},
    {BuiltinOperator::SUM, k2, k1, reduce<OpKind::ReduceSum>},
    {BuiltinOperator::REDUCE_PROD, k2, k1, reduce<OpKind::ReduceProd>},
    {BuiltinOperator::REDUCE_MAX, k2, k1, reduce<OpKind::ReduceMax>},
    {BuiltinOperator::REDUCE_MIN, k2, k1, reduce<OpKind::ReduceMin>},
    {BuiltinOperator::REDUCE_ANY, k2, k1, reduce<OpKind::ReduceMax>},
    {BuiltinOperator::REDUCE_ALL, k2, k1, reduce<OpKind::ReduceMin>},
    {BuiltinOperator::ARG_MAX, k2, k1, arg_extreme<OpKind::ArgMax>},
    {BuiltinOperator::ARG_MIN, k2, k1, arg_extreme<OpKind::ArgMin>},
    {BuiltinOperator::CUMSUM, k2, k1, cumsum},
    {BuiltinOperator::TOPK_V2, k2, k2, top_k},
};

}  // namespace

const std::span<const OpRow> kReduceRows = kRows;

}  // namespace ec::tflite
