#include <gtest/gtest.h>

#include "op_case.h"

namespace ec::test {
namespace {

Attrs allow_zero() {
  ReshapeAttrs attrs;
  attrs.allow_zero = true;
  return attrs;
}

TEST(Reshape, KeepsElementsInOrder) {
  expect_case({OpKind::Reshape,
               {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {3, 2})},
               {f32({3, 2}, {1, 2, 3, 4, 5, 6})}});
  expect_case({OpKind::Reshape,
               {u8({2, 2}, {1, 2, 3, 4}), i64({3}, {0, -1, 1})},
               {u8({2, 2, 1}, {1, 2, 3, 4})}});
  expect_case({OpKind::Reshape, {f32({1}, {7}), i64({0}, {})}, {f32({}, {7})}});
  expect_case(
      {OpKind::Reshape, {f32({0, 3}, {}), i64({2}, {3, 0})}, {f32({3, 0}, {})}, allow_zero()});
}

TEST(Reshape, SolvesOpenDimensions) {
  const Dim n = sym("N"), s = sym("S");
  const auto reshape = [](Shape x, const Known& shape, std::string_view text) {
    expect_types(OpKind::Reshape, {typed(DType::F32, std::move(x)), shape}, {}, {text});
  };
  reshape({n, 3, 4}, i64({2}, {0, -1}), "f32[N,12]");
  reshape({n, 3, 4}, i64({2}, {-1, 12}), "f32[N,12]");
  reshape({n, 3, 4}, i64({2}, {-1, 6}), "f32[?,6]");
  reshape({n, s, 64}, i64({4}, {0, 0, 8, -1}), "f32[N,S,8,8]");
  reshape({n, s, 64}, Known::shape_tensor({n, s, 8, Dim::unknown()}), "f32[N,S,8,8]");
  reshape({n, 8, s, 8}, Known::shape_tensor({n, s, Dim::unknown()}), "f32[N,S,64]");
  reshape({n, 8, s, 8}, Known::shape_tensor({n, Dim::unknown(), 64}), "f32[N,S,64]");
  reshape({Dim::unknown(), 3, 4}, i64({2}, {0, -1}), "f32[?,12]");
  reshape({2, 3, 4}, Known::shape_tensor({Dim::unknown()}), "f32[24]");
  reshape({2, 3, 4}, typed(DType::I64, {1}), "f32[24]");
  reshape({2, 3, 4}, typed(DType::I64, {2}), "f32[?,?]");
  reshape({2, 3, 4}, typed(DType::I64, {n}), "f32[*]");
  reshape({n, 0, 4}, i64({2}, {-1, 4}), "f32[0,4]");
  expect_types(OpKind::Reshape, {unranked(DType::F32), i64({2}, {0, 5})}, {}, {"f32[?,5]"});
}

TEST(Reshape, TracksElements) {
  expect_dims(OpKind::Reshape, {Known::shape_tensor({sym("N"), 3}), i64({2}, {2, 1})}, {}, "[N,3]");
}

TEST(Reshape, RefusesMisfits) {
  const Known x = typed(DType::F32, {2, 3});
  const auto refuses = [&](const Known& shape, Code code, std::string_view text) {
    expect_infer_error(OpKind::Reshape, {x, shape}, {}, code, text);
  };
  refuses(i64({1}, {5}), Code::ShapeMismatch, "does not fit");
  refuses(i64({2}, {-1, 4}), Code::ShapeMismatch, "does not fit");
  refuses(i64({2}, {-1, -1}), Code::BadValue, "more than one -1");
  refuses(i64({2}, {-2, 3}), Code::BadValue, "negative size -2");
  refuses(i64({3}, {2, 3, 0}), Code::BadValue, "copies dimension 2");
  refuses(i64({2}, {1LL << 40, 1LL << 40}), Code::ShapeMismatch, "does not fit");
  refuses(f32({1}, {6}), Code::TypeMismatch, "integer");
  refuses(i64({1, 1}, {6}), Code::ShapeMismatch, "list");
  refuses(typed(DType::I64, {100}), Code::ShapeMismatch, "100 dimensions");
  refuses(typed(DType::I64, {1000000}), Code::BadValue, "1000000");
  expect_infer_error(OpKind::Reshape, {x, i64({2}, {0, -1})}, allow_zero(), Code::BadValue,
                     "both -1 and 0");
}

TEST(Flatten, MultipliesDimensions) {
  expect_case({OpKind::Flatten, {ramp(DType::F32, {2, 3, 2})}, {ramp(DType::F32, {2, 6})}});
  expect_case({OpKind::Flatten,
               {ramp(DType::F32, {2, 3, 2})},
               {ramp(DType::F32, {6, 2})},
               FlattenAttrs{-1}});
  expect_case(
      {OpKind::Flatten, {ramp(DType::F32, {2, 3})}, {ramp(DType::F32, {6, 1})}, FlattenAttrs{2}});
  expect_case({OpKind::Flatten, {scalar(DType::F32, 4)}, {f32({1, 1}, {4})}, FlattenAttrs{0}});
  expect_types(OpKind::Flatten, {typed(DType::F32, {sym("N"), 3, 4})}, {}, {"f32[N,12]"});
  expect_types(OpKind::Flatten, {typed(DType::F32, {sym("N"), sym("M"), 4})}, FlattenAttrs{2},
               {"f32[?,4]"});
  expect_infer_error(OpKind::Flatten, {typed(DType::F32, {2})}, FlattenAttrs{2}, Code::BadValue,
                     "axis 2");
  expect_infer_error(OpKind::Flatten, {typed(DType::F32, {2, 1LL << 40, 1LL << 40})}, {},
                     Code::TooLarge, "too large");
}

TEST(Squeeze, RemovesOnes) {
  expect_case(
      {OpKind::Squeeze, {ramp(DType::I32, {1, 3, 1}), i64({1}, {-1})}, {ramp(DType::I32, {1, 3})}});
  expect_types(OpKind::Squeeze, {typed(DType::F32, {1, 3, 1, 2})}, {}, {"f32[3,2]"});
  expect_types(OpKind::Squeeze, {typed(DType::F32, {1, sym("N")})}, {}, {"f32[*]"});
  expect_types(OpKind::Squeeze, {typed(DType::F32, {sym("N"), 3}), i64({1}, {0})}, {}, {"f32[3]"});
  expect_types(OpKind::Squeeze, {typed(DType::F32, {1, 3, 1}), typed(DType::I64, {1})}, {},
               {"f32[?,?]"});
  // Both may name one axis, which is removed once.
  expect_types(OpKind::Squeeze, {typed(DType::F32, {1, 3, 1}), typed(DType::I64, {2})}, {},
               {"f32[*]"});
  expect_dims(OpKind::Squeeze, {Known::shape_tensor({sym("N")}), i64({1}, {0})}, {}, "[N]");
  expect_infer_error(OpKind::Squeeze, {typed(DType::F32, {2, 3}), i64({1}, {1})}, {},
                     Code::ShapeMismatch, "not 1");
  expect_infer_error(OpKind::Squeeze, {typed(DType::F32, {2, 3}), i64({1}, {2})}, {},
                     Code::BadValue, "axis 2");
}

TEST(Unsqueeze, InsertsOnes) {
  expect_case({OpKind::Unsqueeze,
               {ramp(DType::F32, {2, 3}), i64({2}, {3, 0})},
               {ramp(DType::F32, {1, 2, 3, 1})}});
  expect_case(
      {OpKind::Unsqueeze, {ramp(DType::F16, {2}), i64({1}, {-1})}, {ramp(DType::F16, {2, 1})}});
  expect_types(OpKind::Unsqueeze, {typed(DType::F32, {3}), typed(DType::I64, {2})}, {},
               {"f32[?,?,?]"});
  expect_dims(OpKind::Unsqueeze, {Known::dim_scalar(sym("N")), i64({1}, {0})}, {}, "[N]");
  expect_infer_error(OpKind::Unsqueeze, {typed(DType::F32, {3}), i64({2}, {0, -3})}, {},
                     Code::BadValue, "twice");
  expect_infer_error(OpKind::Unsqueeze, {typed(DType::F32, {3}), i64({1}, {2})}, {}, Code::BadValue,
                     "axis 2");
}

TEST(Expand, Broadcasts) {
  expect_case({OpKind::Expand,
               {f32({3, 1}, {1, 2, 3}), i64({3}, {2, 1, 2})},
               {f32({2, 3, 2}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3})}});
  expect_case({OpKind::Expand,
               {tensor(DType::I16, {2}, {5, 6}), i64({2}, {3, 2})},
               {tensor(DType::I16, {3, 2}, {5, 6, 5, 6, 5, 6})}});
  expect_case({OpKind::Expand, {f32({1}, {1}), i64({1}, {0})}, {f32({0}, {})}});
  const Dim n = sym("N");
  expect_types(OpKind::Expand, {typed(DType::F32, {1, 4}), Known::shape_tensor({n, 1})}, {},
               {"f32[N,4]"});
  expect_types(OpKind::Expand, {typed(DType::F32, {n, 4}), Known::shape_tensor({n, 4})}, {},
               {"f32[N,4]"});
  expect_types(OpKind::Expand, {typed(DType::F32, {1, 4}), typed(DType::I64, {3})}, {},
               {"f32[?,?,4]"});
  expect_dims(OpKind::Expand, {Known::dim_scalar(n), i64({1}, {3})}, {}, "[N,N,N]");
  expect_infer_error(OpKind::Expand, {typed(DType::F32, {3}), i64({1}, {4})}, {},
                     Code::ShapeMismatch, "broadcast");
  expect_infer_error(OpKind::Expand, {typed(DType::F32, {3}), i64({1}, {-1})}, {}, Code::BadValue,
                     "negative");
}

TEST(Expand, HugeResultIsRefused) {
  expect_run_error(OpKind::Expand, {f32({1}, {1}), i64({2}, {1LL << 40, 1LL << 40})}, {},
                   "too large");
}

TEST(ShapeOp, GivesDimensions) {
  expect_case({OpKind::Shape, {ramp(DType::F32, {2, 3, 4})}, {i64({3}, {2, 3, 4})}});
  expect_case({OpKind::Shape, {ramp(DType::F32, {2, 3, 4})}, {i64({1}, {3})}, ShapeAttrs{-2, -1}});
  expect_case({OpKind::Shape, {ramp(DType::F32, {2, 3, 4})}, {i64({0}, {})}, ShapeAttrs{2, 1}});
  expect_case({OpKind::Shape, {ramp(DType::F32, {2, 3})}, {i64({2}, {2, 3})}, ShapeAttrs{-9, 99}});
  expect_case({OpKind::Shape, {scalar(DType::F32, 1)}, {i64({0}, {})}});
  expect_dims(OpKind::Shape, {typed(DType::F32, {sym("N"), 3, Dim::unknown()})}, {}, "[N,3,?]");
  expect_dims(OpKind::Shape, {typed(DType::F32, {sym("N"), 3})}, ShapeAttrs{0, 1}, "[N]");
  expect_types(OpKind::Shape, {unranked(DType::F32)}, {}, {"i64[?]"});
}

TEST(SizeOp, CountsElements) {
  expect_case({OpKind::Size, {ramp(DType::F32, {2, 3})}, {i64({}, {6})}});
  expect_case({OpKind::Size, {f32({0, 5}, {})}, {i64({}, {0})}});
  expect_dims(OpKind::Size, {typed(DType::F32, {sym("N"), 1})}, {}, "[N]");
  expect_dims(OpKind::Size, {typed(DType::F32, {sym("N"), 2})}, {}, "none");
}

TEST(Range, CountsUpAndDown) {
  const auto range = [](DType dtype, double start, double limit, double delta,
                        const std::vector<double>& elements) {
    expect_case({OpKind::Range,
                 {scalar(dtype, start), scalar(dtype, limit), scalar(dtype, delta)},
                 {tensor(dtype, {static_cast<int64_t>(elements.size())}, elements)}});
  };
  range(DType::F32, 1, 5, 2, {1, 3});
  range(DType::F32, 0, 1, 0.25, {0, 0.25, 0.5, 0.75});
  range(DType::I32, 10, 6, -3, {10, 7});
  range(DType::I64, 3, 3, 1, {});
  range(DType::I16, 5, 0, 1, {});
  range(DType::BF16, 0, 3, 1, {0, 1, 2});
  range(DType::I64, 0, 7, 3, {0, 3, 6});
}

TEST(Range, Inference) {
  const Known zero = scalar(DType::I64, 0), one = scalar(DType::I64, 1);
  expect_types(OpKind::Range, {zero, Known::dim_scalar(sym("S")), one}, {}, {"i64[S]"});
  expect_types(OpKind::Range, {one, Known::dim_scalar(sym("S")), one}, {}, {"i64[?]"});
  expect_types(OpKind::Range, {zero, typed(DType::I64, {}), one}, {}, {"i64[?]"});
  expect_infer_error(OpKind::Range, {zero, one, zero}, {}, Code::BadValue, "no step");
  expect_infer_error(OpKind::Range, {zero, scalar(DType::F32, 1), one}, {}, Code::TypeMismatch,
                     "different element types");
  expect_infer_error(OpKind::Range, {zero, i64({2}, {1, 2}), one}, {}, Code::ShapeMismatch,
                     "limit must be one element");
  expect_infer_error(OpKind::Range,
                     {scalar(DType::F32, 0), scalar(DType::F32, 1e38), scalar(DType::F32, 1e-38)},
                     {}, Code::BadValue, "endless");
}

TEST(Range, FullWidthOfIntegersDoesNotOverflow) {
  const Value low = Value::of<int64_t>({}, std::vector<int64_t>{INT64_MIN});
  const Value high = Value::of<int64_t>({}, std::vector<int64_t>{INT64_MAX});
  expect_infer_error(OpKind::Range, {low, high, scalar(DType::I64, 1)}, {}, Code::BadValue,
                     "endless");
  const auto result = run_op(OpKind::Range, {low, high, high});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value()[0].as<int64_t>()[2], INT64_MAX - 1);
}

TEST(Fill, RepeatsTheValue) {
  expect_case({OpKind::Fill,
               {i64({2}, {2, 3}), scalar(DType::F32, 1.5)},
               {f32({2, 3}, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5})}});
  expect_case({OpKind::Fill, {i64({0}, {}), i8({1}, {-3})}, {i8({}, {-3})}});
  expect_case({OpKind::Fill, {i64({1}, {0}), scalar(DType::I64, 1)}, {i64({0}, {})}});
  expect_types(OpKind::Fill, {Known::shape_tensor({sym("N"), 2}), scalar(DType::U8, 0)}, {},
               {"u8[N,2]"});
  expect_types(OpKind::Fill, {typed(DType::I64, {sym("K")}), scalar(DType::U8, 0)}, {}, {"u8[*]"});
  expect_dims(OpKind::Fill, {i64({1}, {2}), Known::dim_scalar(sym("N"))}, {}, "[N,N]");
  expect_infer_error(OpKind::Fill, {i64({1}, {-1}), scalar(DType::U8, 0)}, {}, Code::BadValue,
                     "negative");
  expect_run_error(OpKind::Fill, {i64({2}, {1LL << 40, 1LL << 40}), scalar(DType::U8, 0)}, {},
                   "too large");
}

TEST(EyeLike, PutsOnesOnADiagonal) {
  expect_case({OpKind::EyeLike,
               {ramp(DType::I32, {2, 3})},
               {f32({2, 3}, {0, 1, 0, 0, 0, 1})},
               EyeLikeAttrs{DType::F32, 1}});
  expect_case({OpKind::EyeLike,
               {ramp(DType::I32, {3, 2})},
               {tensor(DType::F16, {3, 2}, {0, 0, 1, 0, 0, 1})},
               EyeLikeAttrs{DType::F16, -1}});
  for (const int64_t k : {INT64_MAX, INT64_MIN, int64_t{2}, int64_t{-2}})
    expect_case({OpKind::EyeLike,
                 {ramp(DType::I32, {2, 2})},
                 {u8({2, 2}, {0, 0, 0, 0})},
                 EyeLikeAttrs{DType::U8, k}});
  expect_infer_error(OpKind::EyeLike, {typed(DType::F32, {2})}, {}, Code::ShapeMismatch, "rank 2");
}

}  // namespace
}  // namespace ec::test
