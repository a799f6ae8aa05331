// Products of matrices.
#include <algorithm>

#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status product(OpContext& ctx, const char* left, const char* right) {
  MatMulAttrs attrs;
  attrs.transpose_a = ctx.attr_bool(left);
  attrs.transpose_b = ctx.attr_bool(right);
  return ctx.finish(OpKind::MatMul, {ctx.in(0), ctx.in(1)}, attrs);
}

Status mat_mul(OpContext& ctx) { return product(ctx, "transpose_a", "transpose_b"); }
Status batch_mat_mul(OpContext& ctx) { return product(ctx, "adj_x", "adj_y"); }

Status einsum(OpContext& ctx) {
  EinsumAttrs attrs;
  attrs.equation = std::string(ctx.attr_text("equation"));
  // Output letters may be left out in TensorFlow's own form alone.
  if (attrs.equation.size() > 1000) return ctx.fail(Code::BadAttribute, "the equation is too long");
  return ctx.finish(OpKind::Einsum, ctx.tensors(), attrs);
}

constexpr OpRow kRows[] = {
    {"MatMul", {2, 2}, mat_mul},
    {"BatchMatMul", {2, 2}, batch_mat_mul},
    {"BatchMatMulV2", {2, 2}, batch_mat_mul},
    {"BatchMatMulV3", {2, 2}, batch_mat_mul},
    {"Einsum", {1, kMany}, einsum},
};

}  // namespace

const std::span<const OpRow> kMatMulRows = kRows;

}  // namespace ec::tf
