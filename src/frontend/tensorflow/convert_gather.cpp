// Gathering, scattering, selecting.
#include "frontend/moved_elements.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status gather_of(OpContext& ctx, ec::Tensor* x, int64_t given_axis, int64_t given_batch) {
  if (!x->shape()) return ctx.fail(Code::DynamicShape, "the rank of the input is not known");
  const size_t rank = x->shape()->rank();
  EC_TRY(const size_t index_rank, ctx.rank(1));
  EC_TRY(const int64_t axis, ctx.axis(given_axis, rank));
  EC_TRY(const int64_t batch, ctx.axis(given_batch, index_rank + 1));
  if (batch > axis)
    return ctx.fail(Code::BadAttribute, "batch_dims " + std::to_string(batch) + " is beyond axis " +
                                            std::to_string(axis));
  if (batch > 0) {
    EC_TRY(ec::Tensor * y, gathered_by_batch(ctx, x, axis, batch));
    return ctx.set(0, y);
  }
  GatherAttrs attrs;
  attrs.axis = axis;
  return ctx.finish(OpKind::Gather, {x, ctx.in(1)}, attrs);
}

Status gather_v2(OpContext& ctx) {
  EC_TRY(const int64_t axis, ctx.need_int(2, "axis"));
  return gather_of(ctx, ctx.in(0), axis, ctx.attr_int("batch_dims"));
}

Status gather(OpContext& ctx) { return gather_of(ctx, ctx.in(0), 0, 0); }

Status resource_gather(OpContext& ctx) {
  if (ctx.value(0).kind != TfValue::Kind::Variable || !ctx.value(1).is_tensor())
    return ctx.fail(Code::TypeMismatch, "a variable and indices are needed");
  EC_TRY(ec::Tensor * x, ctx.importer().read_variable(ctx.site(), ctx.value(0).id, ctx.location()));
  return gather_of(ctx, x, 0, ctx.attr_int("batch_dims"));
}

template <Reduction kReduction, bool kNegative = false>
Status tensor_scatter(OpContext& ctx) {
  EC_TRY(ec::Tensor * indices, ctx.cast(ctx.in(1), DType::I64));
  ec::Tensor* updates = ctx.in(2);
  if (kNegative) {
    EC_TRY(updates, ctx.add(OpKind::Neg, {updates}));
  }
  ScatterNdAttrs attrs;
  attrs.reduction = kReduction;
  return ctx.finish(OpKind::ScatterNd, {ctx.in(0), indices, updates}, attrs);
}

// The positions of elements that are not zero, one per row.
Status where(OpContext& ctx) {
  EC_TRY(ec::Tensor * positions, ctx.add(OpKind::NonZero, {ctx.in(0)}));
  EC_TRY(positions, ctx.transpose(positions, {1, 0}));
  return ctx.set(0, positions);
}

// How many boundaries each value has reached.
Status bucketize(OpContext& ctx) {
  const std::vector<float> bounds = ctx.attr_floats("boundaries");
  EC_TRY(ec::Tensor * x, ctx.cast(ctx.in(0), DType::F32));
  EC_TRY(x, ctx.unsqueeze(x, {-1}));
  ec::Tensor* list = ctx.graph().add_constant<float>("", Shape{static_cast<int64_t>(bounds.size())},
                                                     std::span<const float>(bounds));
  EC_TRY(ec::Tensor * reached, ctx.add(OpKind::GreaterOrEqual, {x, list}));
  EC_TRY(reached, ctx.cast(reached, DType::I32));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return ctx.finish(OpKind::ReduceSum, {reached, ctx.ints({-1})}, attrs);
}

// For each value of a row the number of sorted entries before it.
template <bool kUpper>
Status bound(OpContext& ctx) {
  EC_TRY(ec::Tensor * sorted, ctx.unsqueeze(ctx.in(0), {1}));
  EC_TRY(ec::Tensor * values, ctx.unsqueeze(ctx.in(1), {2}));
  EC_TRY(ec::Tensor * before,
         ctx.add(kUpper ? OpKind::LessOrEqual : OpKind::Less, {sorted, values}));
  EC_TRY(const DType dtype, ctx.attr_dtype("out_type", DataType::Int32));
  EC_TRY(before, ctx.cast(before, dtype));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return ctx.finish(OpKind::ReduceSum, {before, ctx.ints({2})}, attrs);
}

Status unique(OpContext& ctx) {
  UniqueAttrs attrs;
  attrs.sorted = false;
  const bool counts = ctx.source().op == "UniqueWithCounts";
  EC_TRY(const std::vector<ec::Tensor*> found,
         ctx.add_many(OpKind::Unique, {ctx.in(0)}, attrs, counts ? 4 : 3));
  EC_TRY(const DType dtype, ctx.attr_dtype("out_idx", DataType::Int32));
  EC_CHECK_OK(ctx.set(0, found[0]));
  EC_TRY(ec::Tensor * inverse, ctx.cast(found[2], dtype));
  EC_CHECK_OK(ctx.set(1, inverse));
  if (!counts) return {};
  EC_TRY(ec::Tensor * count, ctx.cast(found[3], dtype));
  return ctx.set(2, count);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3};

constexpr OpRow kRows[] = {
    {"GatherV2", k3, gather_v2},
    {"Gather", k2, gather},
    {"ResourceGather", k2, resource_gather, Takes::Anything},
    {"GatherNd", k2, gather_nd},
    {"ScatterNd", k3, scatter_nd},
    {"TensorScatterUpdate", k3, tensor_scatter<Reduction::None>},
    {"TensorScatterAdd", k3, tensor_scatter<Reduction::Add>},
    {"TensorScatterSub", k3, tensor_scatter<Reduction::Add, true>},
    {"TensorScatterMax", k3, tensor_scatter<Reduction::Max>},
    {"TensorScatterMin", k3, tensor_scatter<Reduction::Min>},
    {"Where", k1, where},
    {"Bucketize", k1, bucketize},
    {"LowerBound", k2, bound<false>},
    {"UpperBound", k2, bound<true>},
    {"Unique", k1, unique, Takes::Numbers, "y,idx"},
    {"UniqueWithCounts", k1, unique, Takes::Numbers, "y,idx,count"},
};

}  // namespace

const std::span<const OpRow> kGatherRows = kRows;

}  // namespace ec::tf
