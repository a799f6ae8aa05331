#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_case.h"

namespace ec::test {
namespace {

TEST(Recurrent, ByHand) {
  RecurrentAttrs attrs;
  attrs.activations = {"Relu"};
  // h = relu(x + 2 h): 1, 2 + 2, 1 + 8; the second sequence ends after one step.
  expect_case({OpKind::Rnn,
               {f32({3, 2, 1}, {1, 1, 2, 5, 1, 5}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {2}),
                kAbsent, i32({2}, {3, 1})},
               {f32({3, 1, 2, 1}, {1, 1, 4, 0, 9, 0}), f32({1, 2, 1}, {9, 1})},
               attrs});
  attrs.direction = Direction::Reverse;
  expect_case({OpKind::Rnn,
               {f32({3, 2, 1}, {1, 1, 2, 5, 1, 5}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {2}),
                kAbsent, i32({2}, {2, 0})},
               {f32({3, 1, 2, 1}, {5, 0, 2, 0, 0, 0}), f32({1, 2, 1}, {5, 0})},
               attrs});
}

// x passes through 255 steps of its range: 0.6 of 255 becomes 1. A single state is the end of its
// own range and stays.
TEST(Recurrent, InputsThatAreQuantisedAtEveryStep) {
  const Operand w = f32({1, 4, 1}, {0.01, 0.02, -0.01, 0.03});
  const Operand r = f32({1, 4, 1}, {0.5, -0.25, 0.75, 1});
  RecurrentAttrs attrs;
  const auto plain = run_op(OpKind::Lstm, {f32({2, 1, 1}, {255, 1}), w, r}, attrs, 3);
  attrs.dynamic_quantize_inputs = true;
  const auto quantised = run_op(OpKind::Lstm, {f32({2, 1, 1}, {255, 0.6}), w, r}, attrs, 3);
  ASSERT_TRUE(plain.ok() && quantised.ok());
  for (size_t i = 0; i < 3; ++i) expect_equal((*quantised)[i], (*plain)[i]);
}

TEST(Recurrent, OpenDimensionsFlow) {
  const Dim t = sym("T"), b = sym("B");
  RecurrentAttrs attrs;
  attrs.hidden_size = 8;
  attrs.direction = Direction::Bidirectional;
  const auto w = typed(DType::F32, {2, 32, 5}), r = typed(DType::F32, {2, 32, 8});
  expect_types(OpKind::Lstm, {typed(DType::F32, {t, b, 5}), w, r}, attrs,
               {"f32[T,2,B,8]", "f32[2,B,8]", "f32[2,B,8]"});
  attrs.batch_first = true;
  expect_types(OpKind::Lstm, {typed(DType::F32, {b, t, 5}), w, r}, attrs,
               {"f32[B,T,2,8]", "f32[B,2,8]"});
  attrs = {};
  expect_types(OpKind::Gru,
               {typed(DType::F32, {t, b, 5}), unranked(DType::F32), typed(DType::F32, {1, 24, 8})},
               attrs, {"f32[T,1,B,8]", "f32[1,B,8]"});
}

TEST(Recurrent, Errors) {
  const auto x = typed(DType::F32, {3, 2, 5});
  const auto w = typed(DType::F32, {1, 8, 5}), r = typed(DType::F32, {1, 8, 2});
  RecurrentAttrs attrs;
  expect_types(OpKind::Lstm, {x, w, r}, attrs, {"f32[3,1,2,2]"});
  expect_infer_error(OpKind::Lstm, {typed(DType::F32, {3, 5}), w, r}, attrs, Code::ShapeMismatch,
                     "rank 3");
  expect_infer_error(OpKind::Lstm, {typed(DType::F32, {3, 2, 4}), w, r}, attrs, Code::ShapeMismatch,
                     "input size");
  expect_infer_error(OpKind::Lstm, {x, typed(DType::F32, {1, 7, 5}), r}, attrs, Code::ShapeMismatch,
                     "multiple of 4");
  expect_infer_error(OpKind::Lstm, {x, w, typed(DType::F32, {1, 8, 3})}, attrs, Code::ShapeMismatch,
                     "hidden size");
  expect_infer_error(OpKind::Lstm, {x, w, r, typed(DType::F32, {1, 8})}, attrs, Code::ShapeMismatch,
                     "hidden size");
  expect_infer_error(OpKind::Lstm, {x, w, r, kAbsent, typed(DType::I32, {3})}, attrs,
                     Code::ShapeMismatch, "batch");
  expect_infer_error(OpKind::Lstm, {x, typed(DType::F64, {1, 8, 5}), r}, attrs, Code::TypeMismatch,
                     "f64");
  attrs.direction = Direction::Bidirectional;
  expect_infer_error(OpKind::Lstm, {x, w, r}, attrs, Code::ShapeMismatch, "directions");
  attrs.direction = Direction::Forward;
  attrs.activations = {"Sigmoid", "Tanh"};
  expect_infer_error(OpKind::Lstm, {x, w, r}, attrs, Code::BadValue, "3 needed");
  attrs.activations = {"Sigmoid", "Tanh", "Swish"};
  expect_infer_error(OpKind::Lstm, {x, w, r}, attrs, Code::UnsupportedOpForm, "Swish");
  attrs.activations = {};
  attrs.clip = -1.0f;
  expect_infer_error(OpKind::Lstm, {x, w, r}, attrs, Code::BadValue, "clip");
  expect_run_error(
      OpKind::Rnn,
      {f32({1, 1, 1}, {1}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {1}), kAbsent, i32({1}, {2})}, {},
      "length 2");
}

TEST(Attention, ByHand) {
  AttentionAttrs attrs;
  attrs.scale = 1.0f;
  attrs.causal = true;
  attrs.qk_output_mode = 3;
  const double e = std::exp(1.0), p = e / (1 + e);
  // Two queries, two keys [1] and [0]: the first query sees only the first key.
  expect_case({OpKind::Attention,
               {f32({1, 1, 2, 1}, {1, 1}), f32({1, 1, 2, 1}, {1, 0}), f32({1, 1, 2, 1}, {10, 20})},
               {f32({1, 1, 2, 1}, {10, 10 * p + 20 * (1 - p)}), f32({1, 1, 2, 1}, {1, 0}),
                f32({1, 1, 2, 1}, {10, 20}), f32({1, 1, 2, 2}, {1, 0, p, 1 - p})},
               attrs});
  // A query that sees nothing gives zeros, whatever its scores are.
  expect_case({OpKind::Attention,
               {f32({1, 1, 1, 1}, {INFINITY}), f32({1, 1, 1, 1}, {1}), f32({1, 1, 1, 1}, {7}),
                boolean({1, 1}, {0})},
               {f32({1, 1, 1, 1}, {0})}});
}

TEST(Attention, Inference) {
  const Dim b = sym("B"), s = sym("S"), past = sym("P");
  const auto q = typed(DType::F32, {b, 8, s, 16}), k = typed(DType::F32, {b, 2, s, 16});
  expect_types(OpKind::Attention, {q, k, k}, {},
               {"f32[B,8,S,16]", "f32[B,2,S,16]", "f32[B,2,S,16]", "f32[B,8,S,S]"});
  const auto cache = typed(DType::F32, {b, 2, past, 16});
  expect_types(OpKind::Attention, {q, k, k, kAbsent, cache, cache}, {},
               {"f32[B,8,S,16]", "f32[B,2,?,16]"});
  AttentionAttrs three;
  three.q_heads = 4;
  three.kv_heads = 2;
  expect_types(
      OpKind::Attention,
      {typed(DType::F32, {b, s, 32}), typed(DType::F32, {b, 7, 16}), typed(DType::F32, {b, 7, 10})},
      three, {"f32[B,S,20]", "f32[B,2,7,8]", "f32[B,2,7,5]"});
}

TEST(Attention, Errors) {
  const auto q = typed(DType::F32, {1, 4, 3, 8}), k = typed(DType::F32, {1, 2, 5, 8});
  const auto expect = [&](std::vector<Known> operands, AttentionAttrs attrs, Code code,
                          std::string_view text) {
    expect_infer_error(OpKind::Attention, operands, attrs, code, text);
  };
  expect({q, typed(DType::F32, {1, 3, 5, 8}), typed(DType::F32, {1, 3, 5, 8})}, {},
         Code::ShapeMismatch, "3 key heads");
  expect({q, typed(DType::F32, {1, 2, 5, 7}), k}, {}, Code::ShapeMismatch, "head size");
  expect({q, k, typed(DType::F32, {1, 2, 6, 8})}, {}, Code::ShapeMismatch, "length");
  expect({q, k, k, typed(DType::Bool, {3, 6})}, {}, Code::ShapeMismatch, "bool[3,6]");
  expect({q, k, k, typed(DType::Bool, {2, 5})}, {}, Code::ShapeMismatch, "mask");
  expect({q, k, k, kAbsent, k}, {}, Code::BadArity, "together");
  expect({q, k, k, kAbsent, k, k, typed(DType::I64, {1})}, {}, Code::BadArity, "exclude");
  expect({typed(DType::F32, {1, 3, 8}), typed(DType::F32, {1, 3, 8}), typed(DType::F32, {1, 3, 8})},
         {}, Code::BadValue, "numbers of heads");
  expect({q, typed(DType::F16, {1, 2, 5, 8}), k}, {}, Code::TypeMismatch, "f16");
  AttentionAttrs attrs;
  attrs.qk_output_mode = 4;
  expect({q, k, k}, attrs, Code::BadValue, "mode 4");
}

TEST(RotaryEmbedding, InferenceAndErrors) {
  const Dim b = sym("B"), s = sym("S");
  const auto cache = typed(DType::F32, {100, 4});
  expect_types(OpKind::RotaryEmbedding,
               {typed(DType::F32, {b, 2, s, 8}), cache, cache, typed(DType::I64, {b, s})}, {},
               {"f32[B,2,S,8]"});
  const auto x = typed(DType::F32, {1, 2, 3, 8});
  expect_infer_error(OpKind::RotaryEmbedding, {x, cache, cache}, {}, Code::ShapeMismatch, "cache");
  expect_infer_error(OpKind::RotaryEmbedding,
                     {x, typed(DType::F32, {100, 3}), cache, typed(DType::I64, {1, 3})}, {},
                     Code::ShapeMismatch, "f32[100,3]");
  expect_infer_error(OpKind::RotaryEmbedding, {x, cache, cache, typed(DType::I64, {1, 4})}, {},
                     Code::ShapeMismatch, "positions");
  expect_infer_error(OpKind::RotaryEmbedding,
                     {typed(DType::F32, {1, 3, 8}), cache, cache, typed(DType::I64, {1, 3})}, {},
                     Code::BadValue, "number of heads");
  RotaryEmbeddingAttrs odd;
  odd.rotary_dim = 3;
  expect_infer_error(OpKind::RotaryEmbedding, {x, cache, cache, typed(DType::I64, {1, 3})}, odd,
                     Code::BadValue, "even");
  const Value one = f32({2, 1}, {1, 1});
  expect_run_error(OpKind::RotaryEmbedding, {f32({1, 1, 1, 2}, {1, 2}), one, one, i64({1, 1}, {2})},
                   {}, "position 2");
  expect_run_error(OpKind::RotaryEmbedding,
                   {f32({1, 1, 1, 2}, {1, 2}), one, one, i64({1, 1}, {-1})}, {}, "position -1");
}

}  // namespace
}  // namespace ec::test
