// Matrix products.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

Status gemm(NodeContext& ctx) {
  GemmAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  attrs.beta = ctx.attr_float("beta", 1.0f);
  attrs.transpose_a = ctx.attr_bool("transA", false);
  attrs.transpose_b = ctx.attr_bool("transB", false);
  ctx.ignore_attr("broadcast");  // before version 7; today C always broadcasts
  return ctx.finish(OpKind::Gemm, ctx.tensors(), attrs);
}

Status einsum(NodeContext& ctx) {
  EinsumAttrs attrs;
  attrs.equation = ctx.attr_string("equation", "");
  if (!ctx.has_attr("equation"))
    return ctx.fail(Code::BadAttribute, "attribute 'equation' is missing");
  return ctx.finish(OpKind::Einsum, ctx.tensors(), attrs);
}

Status mat_mul(NodeContext& ctx) {
  return ctx.finish(OpKind::MatMul, ctx.tensors(), MatMulAttrs{});
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {"MatMul", 1, kLatest, k2, k1, mat_mul},
    {"Gemm", 1, 10, {3, 3}, k1, gemm},
    {"Gemm", 11, kLatest, {2, 3}, k1, gemm},
    {"Einsum", 12, kLatest, {1, kMany}, k1, einsum},
    {"Det", 11, kLatest, k1, k1, direct<OpKind::Det>},
};

}  // namespace

const std::span<const OpRow> kMatMulRows = kRows;

}  // namespace ec::onnx
