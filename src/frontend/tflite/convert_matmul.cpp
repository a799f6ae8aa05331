// Fully connected layers and batched products.
#include <algorithm>

#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

// Inputs of any rank count as rows of as many elements as the weights have columns.
Result<ec::Tensor*> as_rows(OpContext& ctx, int64_t columns) {
  ec::Tensor* x = ctx.in(0);
  EC_TRY(const size_t rank, ctx.rank());
  if (rank == 2 && x->shape()->dims().back() == Dim(columns)) return x;
  return ctx.reshape(x, std::vector<int64_t>{-1, columns});
}

Status fully_connected(OpContext& ctx) {
  const auto& options = ctx.options<FullyConnectedOptions>();
  if (options.weights_format() != FullyConnectedOptionsWeightsFormat::DEFAULT)
    return ctx.unsupported("shuffled weights are not supported");
  EC_TRY(const size_t weight_rank, ctx.rank(1));
  EC_TRY(const size_t rank, ctx.rank(0));
  if (weight_rank != 2) return ctx.fail(Code::ShapeMismatch, "the weights are no matrix");
  const Dim columns = (*ctx.in(1)->shape())[1];
  if (!columns.is_static() || columns.size() < 1)
    return ctx.fail(Code::DynamicShape, "the size of the weights has to be known");
  EC_TRY(const FusedActivation act, fused_activation(ctx, options.fused_activation_function()));
  if (options.keep_num_dims() && rank > 2) {
    MatMulAttrs attrs;
    attrs.transpose_b = true;
    attrs.activation = act.kind;
    attrs.act_alpha = act.alpha;
    attrs.act_beta = act.beta;
    attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
    return ctx.finish(OpKind::MatMul, {ctx.in(0), ctx.in(1), ctx.in(2)}, attrs);
  }
  EC_TRY(ec::Tensor * rows, as_rows(ctx, columns.size()));
  GemmAttrs attrs;
  attrs.transpose_b = true;
  attrs.activation = act.kind;
  attrs.act_alpha = act.alpha;
  attrs.act_beta = act.beta;
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  if (!options.keep_num_dims() || rank == 2)
    return ctx.finish(OpKind::Gemm, {rows, ctx.in(1), ctx.in(2)}, attrs);
  // One dimension in, one out.
  EC_TRY(ec::Tensor * matrix, ctx.add(OpKind::Gemm, {rows, ctx.in(1), ctx.in(2)}, attrs));
  if (is_integer(matrix->dtype())) ctx.graph().set_quant(matrix, ctx.out_quant());
  EC_TRY(ec::Tensor * list, ctx.reshape(matrix, std::vector<int64_t>{-1}));
  return ctx.set(0, list);
}

Status batch_matmul(OpContext& ctx) {
  const auto& options = ctx.options<BatchMatMulOptions>();
  MatMulAttrs attrs;
  attrs.transpose_a = options.adj_x();
  attrs.transpose_b = options.adj_y();
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  return ctx.finish(OpKind::MatMul, {ctx.in(0), ctx.in(1)}, attrs);
}

constexpr OpRow kRows[] = {
    {BuiltinOperator::FULLY_CONNECTED, {2, 3}, {1, 2}, fully_connected},
    {BuiltinOperator::BATCH_MATMUL, {2, 2}, {1, 1}, batch_matmul},
};

}  // namespace

const std::span<const OpRow> kMatMulRows = kRows;

}  // namespace ec::tflite
