#include <gtest/gtest.h>

#include "ops/op_case.h"

namespace ec::test {
namespace {

EinsumAttrs equation(std::string text) {
  EinsumAttrs attrs;
  attrs.equation = std::move(text);
  return attrs;
}

TEST(MatMul, ByHand) {
  expect_case(
      {OpKind::MatMul, {f32({2, 2}, {1, 2, 3, 4}), f32({2, 1}, {5, 6})}, {f32({2, 1}, {17, 39})}});
  MatMulAttrs attrs;
  attrs.alpha = 2.0f;
  attrs.activation = Activation::LeakyRelu;
  attrs.act_alpha = 0.5f;
  expect_case({OpKind::MatMul,
               {f32({1, 2}, {1, -1}), f32({2, 2}, {1, 2, 3, 1}), f32({2}, {1, 0})},
               {f32({1, 2}, {-1.5, 2})},
               attrs});
  // Integers wrap.
  expect_case(
      {OpKind::MatMul, {u8({1, 2}, {255, 255}), u8({2, 1}, {255, 255})}, {u8({1, 1}, {2})}});
}

TEST(MatMul, OpenDimensionsFlow) {
  const Dim n = sym("N"), t = sym("T");
  expect_types(OpKind::MatMul, {typed(DType::F32, {n, t, 8}), typed(DType::F32, {8, 4})}, {},
               {"f32[N,T,4]"});
  expect_types(OpKind::MatMul, {typed(DType::F32, {n, 2, t}), typed(DType::F32, {n, t, 4})}, {},
               {"f32[N,2,4]"});
  expect_types(OpKind::MatMul, {typed(DType::F32, {t}), typed(DType::F32, {n, t, 4})}, {},
               {"f32[N,4]"});
  MatMulAttrs transposed;
  transposed.transpose_b = true;
  expect_types(OpKind::MatMul, {typed(DType::F32, {n, t, 8}), typed(DType::F32, {n, t, 8})},
               transposed, {"f32[N,T,T]"});
  expect_types(OpKind::Gemm, {unranked(DType::F32), typed(DType::F32, {8, 4})}, {}, {"f32[?,4]"});
}

TEST(MatMul, Errors) {
  expect_infer_error(OpKind::MatMul, {typed(DType::F32, {2, 3}), typed(DType::F32, {4, 5})}, {},
                     Code::ShapeMismatch, "f32[2,3] and f32[4,5]");
  expect_infer_error(OpKind::MatMul, {typed(DType::F32, {2, 3, 3}), typed(DType::F32, {4, 3, 5})},
                     {}, Code::ShapeMismatch, "broadcast");
  expect_infer_error(OpKind::MatMul, {typed(DType::F32, {}), typed(DType::F32, {4})}, {},
                     Code::ShapeMismatch, "rank 1");
  expect_infer_error(OpKind::MatMul, {typed(DType::F32, {2, 2}), typed(DType::F64, {2, 2})}, {},
                     Code::TypeMismatch, "f64");
  expect_infer_error(OpKind::MatMul,
                     {typed(DType::F32, {2, 2}), typed(DType::F32, {2, 3}), typed(DType::F32, {2})},
                     {}, Code::ShapeMismatch, "bias");
  MatMulAttrs relu;
  relu.activation = Activation::Relu;
  expect_infer_error(OpKind::MatMul, {typed(DType::I32, {2, 2}), typed(DType::I32, {2, 2})}, relu,
                     Code::TypeMismatch, "activation");
  expect_infer_error(OpKind::Gemm, {typed(DType::F32, {2, 3, 1}), typed(DType::F32, {3, 5})}, {},
                     Code::ShapeMismatch, "rank 2");
  expect_infer_error(OpKind::Gemm,
                     {typed(DType::F32, {2, 3}), typed(DType::F32, {3, 5}), typed(DType::F32, {3})},
                     {}, Code::ShapeMismatch, "[2,5]");
  expect_infer_error(OpKind::Det, {typed(DType::F32, {2, 3})}, {}, Code::ShapeMismatch, "square");
}

TEST(Gemm, IntegerFactors) {
  GemmAttrs attrs;
  attrs.alpha = 0.5f;
  attrs.beta = 2.0f;
  expect_case({OpKind::Gemm,
               {i32({1, 2}, {3, -4}), i32({2, 1}, {1, 2}), i32({1}, {7})},
               {i32({1, 1}, {11})},
               attrs});
}

TEST(Einsum, Inference) {
  const Dim b = sym("B"), t = sym("T");
  expect_types(OpKind::Einsum, {typed(DType::F32, {b, t, 8}), typed(DType::F32, {b, t, 8})},
               equation("btd,bsd->bts"), {"f32[B,T,T]"});
  expect_types(OpKind::Einsum, {typed(DType::F32, {b, 2, t}), typed(DType::F32, {t, 4})},
               equation("...i,ij"), {"f32[B,2,4]"});
  expect_types(OpKind::Einsum, {unranked(DType::F32), typed(DType::F32, {3, t})},
               equation("ij,jk->ik"), {"f32[?,T]"});
  expect_types(OpKind::Einsum, {unranked(DType::F32), typed(DType::F32, {3, t})},
               equation("...j,jk->...k"), {"f32[*]"});
}

TEST(Einsum, Errors) {
  const auto matrix = typed(DType::F32, {2, 3});
  expect_infer_error(OpKind::Einsum, {matrix, matrix}, equation("ij,jk->ik"), Code::ShapeMismatch,
                     "sizes 3 and 2");
  expect_infer_error(OpKind::Einsum, {matrix}, equation("ij,jk->ik"), Code::BadValue,
                     "2 operands, 1");
  expect_infer_error(OpKind::Einsum, {matrix}, equation("ijk->i"), Code::ShapeMismatch,
                     "3 dimensions");
  expect_infer_error(OpKind::Einsum, {matrix}, equation("ij->k"), Code::BadValue, "no operand");
  expect_infer_error(OpKind::Einsum, {matrix}, equation("ij->ii"), Code::BadValue, "repeats");
  for (const char* text : {"i1->i", "......->", "i..j", "ij->ij->ij", "-"})
    expect_infer_error(OpKind::Einsum, {matrix}, equation(text), Code::BadValue, "cannot be read");
}

TEST(Einsum, RefusesHugeIntermediates) {
  const std::vector<double> ones(10000, 1.0);
  expect_run_error(OpKind::Einsum,
                   {f32({10000}, ones), f32({10000}, ones), f32({1, 1, 10000}, ones)},
                   equation("a,b,abc->"), "too large");
}

}  // namespace
}  // namespace ec::test
