// Gathering, scattering, selecting.
#include "frontend/moved_elements.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

Status gather(OpContext& ctx) {
  const auto& options = ctx.options<GatherOptions>();
  EC_TRY(const size_t rank, ctx.rank());
  EC_TRY(const size_t index_rank, ctx.rank(1));
  EC_TRY(const int64_t axis, ctx.axis(options.axis(), rank));
  EC_TRY(const int64_t batch, ctx.axis(options.batch_dims(), index_rank + 1));
  if (batch > axis)
    return ctx.fail(Code::BadAttribute, "batch_dims " + std::to_string(batch) + " is beyond axis " +
                                            std::to_string(axis));
  if (batch > 0) {
    EC_TRY(ec::Tensor * y, gathered_by_batch(ctx, ctx.in(0), axis, batch));
    return ctx.set(0, y);
  }
  GatherAttrs attrs;
  attrs.axis = axis;
  return ctx.finish(OpKind::Gather, {ctx.in(0), ctx.in(1)}, attrs);
}

// embedding_lookup(ids, table): rows of the table; integer tables give real values.
Status embedding_lookup(OpContext& ctx) {
  GatherAttrs attrs;
  EC_TRY(ec::Tensor * rows, ctx.add(OpKind::Gather, {ctx.in(1), ctx.in(0)}, attrs));
  EC_TRY(const DType dtype, ctx.out_dtype());
  if (rows->dtype() == dtype) return ctx.set(0, rows);
  const auto& quant = ctx.in(1)->type().quant;
  if (!quant || quant->per_channel())
    return ctx.unsupported("a table of this type is not supported");
  return ctx.finish(OpKind::Dequantize, {rows}, DequantizeAttrs{});
}

// The positions of elements that are not zero, one per row.
Status where(OpContext& ctx) {
  EC_TRY(ec::Tensor * positions, ctx.add(OpKind::NonZero, {ctx.in(0)}));
  EC_TRY(positions, ctx.transpose(positions, {1, 0}));
  EC_TRY(const DType dtype, ctx.out_dtype());
  EC_TRY(positions, ctx.cast(positions, dtype));
  return ctx.set(0, positions);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3};

constexpr OpRow kRows[] = {
    {BuiltinOperator::GATHER, k2, k1, gather},
    {BuiltinOperator::GATHER_ND, k2, k1, gather_nd},
    {BuiltinOperator::SCATTER_ND, k3, k1, scatter_nd},
    {BuiltinOperator::EMBEDDING_LOOKUP, k2, k1, embedding_lookup},
    {BuiltinOperator::WHERE, k1, k1, where},
};

}  // namespace

const std::span<const OpRow> kGatherRows = kRows;

}  // namespace ec::tflite
