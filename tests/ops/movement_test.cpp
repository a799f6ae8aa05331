#include <gtest/gtest.h>

#include "op_case.h"

namespace ec::test {
namespace {

TEST(Transpose, Permutes) {
  expect_case(
      {OpKind::Transpose, {f32({2, 3}, {1, 2, 3, 4, 5, 6})}, {f32({3, 2}, {1, 4, 2, 5, 3, 6})}});
  expect_case({OpKind::Transpose,
               {u8({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
               {u8({3, 2, 1}, {1, 4, 2, 5, 3, 6})},
               TransposeAttrs{{2, 0, 1}}});
  expect_case({OpKind::Transpose,
               {u8({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})},
               {u8({2, 2, 2}, {0, 1, 4, 5, 2, 3, 6, 7})},
               TransposeAttrs{{1, 0, -1}}});
  expect_case({OpKind::Transpose, {scalar(DType::F64, 2)}, {scalar(DType::F64, 2)}});
  expect_case({OpKind::Transpose, {f32({0, 3}, {})}, {f32({3, 0}, {})}});
}

TEST(Transpose, Inference) {
  const Attrs perm = TransposeAttrs{{0, 2, 3, 1}};
  expect_types(OpKind::Transpose, {typed(DType::F32, {sym("N"), 3, 8, Dim::unknown()})}, perm,
               {"f32[N,8,?,3]"});
  expect_types(OpKind::Transpose, {unranked(DType::F32)}, perm, {"f32[?,?,?,?]"});
  expect_types(OpKind::Transpose, {unranked(DType::F32)}, {}, {"f32[*]"});
  expect_infer_error(OpKind::Transpose, {typed(DType::F32, {2, 3})}, perm, Code::BadValue,
                     "perm lists 4");
  expect_infer_error(OpKind::Transpose, {typed(DType::F32, {2, 3})}, TransposeAttrs{{0, 0}},
                     Code::BadValue, "twice");
  expect_infer_error(OpKind::Transpose, {typed(DType::F32, {2, 3})}, TransposeAttrs{{0, 2}},
                     Code::BadValue, "axis 2");
}

TEST(Concat, AlongAnyAxis) {
  const Value a = f32({2, 1}, {1, 2}), b = f32({2, 2}, {3, 4, 5, 6});
  expect_case({OpKind::Concat, {a, b}, {f32({2, 3}, {1, 3, 4, 2, 5, 6})}, AxisAttrs{1}});
  expect_case({OpKind::Concat,
               {i64({1}, {1}), i64({0}, {}), i64({2}, {2, 3})},
               {i64({3}, {1, 2, 3})},
               AxisAttrs{-1}});
  expect_case({OpKind::Concat, {a}, {a}, AxisAttrs{0}});
}

TEST(Concat, Inference) {
  const Dim n = sym("N");
  expect_types(OpKind::Concat, {typed(DType::F32, {n, 3}), typed(DType::F32, {Dim::unknown(), 5})},
               AxisAttrs{1}, {"f32[N,8]"});
  expect_types(OpKind::Concat, {typed(DType::F32, {n, 3}), typed(DType::F32, {2, 5})}, AxisAttrs{1},
               {"f32[2,8]"});
  expect_types(OpKind::Concat, {typed(DType::F32, {n, 3}), unranked(DType::F32)}, AxisAttrs{0},
               {"f32[?,3]"});
  expect_types(OpKind::Concat, {typed(DType::F32, {n, 3}), typed(DType::F32, {0, 3})}, {},
               {"f32[N,3]"});
  // -1 is no dimension, but the rest of the list stays known.
  expect_dims(OpKind::Concat, {Known::shape_tensor({n}), i64({2}, {-1, 4}), typed(DType::I64, {1})},
              {}, "[N,?,4,?]");
  expect_infer_error(OpKind::Concat, {typed(DType::F32, {2, 3}), typed(DType::F32, {3, 3})},
                     AxisAttrs{1}, Code::ShapeMismatch, "sizes 2 and 3 differ");
  expect_infer_error(OpKind::Concat, {typed(DType::F32, {2}), typed(DType::F32, {2, 1})}, {},
                     Code::ShapeMismatch, "different ranks");
  expect_infer_error(OpKind::Concat, {typed(DType::F32, {2}), typed(DType::I8, {2})}, {},
                     Code::TypeMismatch, "different element types");
  expect_infer_error(OpKind::Concat, {typed(DType::F32, {}), typed(DType::F32, {})}, {},
                     Code::BadValue, "axis 0");
  expect_infer_error(OpKind::Concat, {}, {}, Code::BadValue, "nothing");
  expect_infer_error(OpKind::Concat,
                     {typed(DType::F32, {INT64_MAX}), typed(DType::F32, {INT64_MAX})}, {},
                     Code::TooLarge, "too large");
}

TEST(Split, EvenAndGivenParts) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_case({OpKind::Split, {x}, {f32({2, 2}, {1, 2, 4, 5}), f32({2, 1}, {3, 6})}, AxisAttrs{1}});
  expect_case({OpKind::Split,
               {x, i64({3}, {1, 0, 2})},
               {f32({2, 1}, {1, 4}), f32({2, 0}, {}), f32({2, 2}, {2, 3, 5, 6})},
               AxisAttrs{-1}});
  expect_case({OpKind::Split,
               {i64({5}, {1, 2, 3, 4, 5})},
               {i64({2}, {1, 2}), i64({2}, {3, 4}), i64({1}, {5}), i64({0}, {})}});
}

TEST(Split, Inference) {
  const Known x = typed(DType::F32, {sym("N"), 7});
  const auto types = infer_op(OpKind::Split, {x}, AxisAttrs{1}, 3);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ(types->types[0].text(), "f32[N,3]");
  EXPECT_EQ(types->types[2].text(), "f32[N,1]");
  const auto open = infer_op(OpKind::Split, {x, typed(DType::I64, {2})}, AxisAttrs{1}, 2);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->types[1].text(), "f32[N,?]");
  const auto dims = infer_op(OpKind::Split, {Known::shape_tensor({3, sym("N"), 5})}, {}, 2);
  ASSERT_TRUE(dims.ok());
  ASSERT_TRUE(dims->dims[0] && dims->dims[1]);
  EXPECT_EQ(Shape(*dims->dims[0]).text(), "[3,N]");
  EXPECT_EQ(Shape(*dims->dims[1]).text(), "[5]");
  expect_infer_error(OpKind::Split, {x, i64({2}, {3, 3})}, AxisAttrs{1}, Code::BadValue,
                     "add up to 6", 2);
  expect_infer_error(OpKind::Split, {x, i64({3}, {3, 3, 1})}, AxisAttrs{1}, Code::BadValue,
                     "3 sizes for 2", 2);
  expect_infer_error(OpKind::Split, {x, i64({2}, {8, -1})}, AxisAttrs{1}, Code::BadValue, "-1", 2);
}

TEST(Tile, Repeats) {
  expect_case({OpKind::Tile,
               {f32({2, 2}, {1, 2, 3, 4}), i64({2}, {2, 2})},
               {f32({4, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4})}});
  expect_case({OpKind::Tile, {u8({1, 3}, {1, 2, 3}), i64({2}, {0, 2})}, {u8({0, 6}, {})}});
  expect_types(OpKind::Tile, {typed(DType::F32, {sym("N"), 3}), i64({2}, {1, 4})}, {},
               {"f32[N,12]"});
  expect_types(OpKind::Tile, {typed(DType::F32, {1, 3}), Known::shape_tensor({sym("N"), 1})}, {},
               {"f32[N,3]"});
  expect_types(OpKind::Tile, {typed(DType::F32, {sym("N")}), i64({1}, {2})}, {}, {"f32[?]"});
  expect_infer_error(OpKind::Tile, {typed(DType::F32, {2}), i64({1}, {-1})}, {}, Code::BadValue,
                     "-1");
  expect_infer_error(OpKind::Tile, {typed(DType::F32, {2}), i64({2}, {1, 1})}, {},
                     Code::ShapeMismatch, "2 numbers");
  const Value huge = Value::of<int64_t>({1}, std::vector<int64_t>{INT64_MAX});
  expect_infer_error(OpKind::Tile, {typed(DType::F32, {2}), huge}, {}, Code::ShapeMismatch,
                     "too large");
}

TEST(Trilu, KeepsATriangle) {
  const Value x = f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_case({OpKind::Trilu, {x}, {f32({3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9})}});
  expect_case({OpKind::Trilu,
               {x, scalar(DType::I64, 1)},
               {f32({3, 3}, {1, 2, 0, 4, 5, 6, 7, 8, 9})},
               TriluAttrs{false}});
  expect_case({OpKind::Trilu,
               {x, scalar(DType::I64, -1)},
               {f32({3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0})},
               TriluAttrs{false}});
  expect_case({OpKind::Trilu,
               {i32({2, 1, 2}, {1, 2, 3, 4}), scalar(DType::I64, 1)},
               {i32({2, 1, 2}, {0, 2, 0, 4})}});
  for (const int64_t k : {INT64_MAX, INT64_MIN}) {
    const Value extreme = Value::of<int64_t>({}, std::vector<int64_t>{k});
    const Value zeros = f32({3, 3}, std::vector<double>(9, 0.0));
    expect_case({OpKind::Trilu, {x, extreme}, {k > 0 ? zeros : x}});
    expect_case({OpKind::Trilu, {x, extreme}, {k > 0 ? x : zeros}, TriluAttrs{false}});
  }
  expect_infer_error(OpKind::Trilu, {typed(DType::F32, {3})}, {}, Code::ShapeMismatch, "rank 2");
}

TEST(ReverseSequence, ReversesPrefixes) {
  const Value x = f32({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});  // time, batch
  expect_case(
      {OpKind::ReverseSequence, {x, i64({2}, {3, 1})}, {f32({4, 2}, {4, 1, 2, 3, 0, 5, 6, 7})}});
  expect_case({OpKind::ReverseSequence,
               {f32({2, 3, 1}, {0, 1, 2, 3, 4, 5}), i64({2}, {2, 3})},
               {f32({2, 3, 1}, {1, 0, 2, 5, 4, 3})},
               ReverseSequenceAttrs{0, 1}});
  expect_infer_error(OpKind::ReverseSequence, {typed(DType::F32, {4, 2}), i64({2}, {5, 1})}, {},
                     Code::BadValue, "outside 0 to 4");
  expect_infer_error(OpKind::ReverseSequence, {typed(DType::F32, {4, 2}), i64({3}, {1, 1, 1})}, {},
                     Code::ShapeMismatch, "batch");
  expect_infer_error(OpKind::ReverseSequence, {typed(DType::F32, {4, 2}), i64({2}, {1, 1})},
                     ReverseSequenceAttrs{1, 1}, Code::BadValue, "0 and 1");
}

// --- slice
// ----------------------------------------------------------------------------------------

TEST(Slice, StartsEndsSteps) {
  const Value x = f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_case({OpKind::Slice,
               {x, i64({2}, {1, 0}), i64({2}, {2, 3}), i64({2}, {0, 1}), i64({2}, {1, 2})},
               {f32({1, 2}, {5, 7})}});
  expect_case(
      {OpKind::Slice, {x, i64({2}, {0, 1}), i64({2}, {-1, 1000})}, {f32({1, 3}, {2, 3, 4})}});
  expect_case({OpKind::Slice,
               {x, i64({1}, {-1}), i64({1}, {-1000}), i64({1}, {-1}), i64({1}, {-1})},
               {f32({2, 4}, {4, 3, 2, 1, 8, 7, 6, 5})}});
  expect_case({OpKind::Slice,
               {x, i32({1}, {3}), i32({1}, {0}), i32({1}, {1}), i32({1}, {-2})},
               {f32({2, 2}, {4, 2, 8, 6})}});
  expect_case({OpKind::Slice, {x, i64({1}, {5}), i64({1}, {9}), i64({1}, {1})}, {f32({2, 0}, {})}});
}

TEST(Slice, ExtremeNumbersAreClamped) {
  const Value x = i32({3}, {1, 2, 3});
  const auto at = [](int64_t v) { return Value::of<int64_t>({1}, std::vector<int64_t>{v}); };
  const Value zero = at(0);
  expect_case(
      {OpKind::Slice, {x, at(INT64_MIN), at(INT64_MAX), zero, at(INT64_MAX)}, {i32({1}, {1})}});
  expect_case(
      {OpKind::Slice, {x, at(INT64_MAX), at(INT64_MIN), zero, at(INT64_MIN)}, {i32({1}, {3})}});
  expect_case(
      {OpKind::Slice, {x, at(INT64_MAX), at(INT64_MIN), zero, at(-1)}, {i32({3}, {3, 2, 1})}});
  expect_case({OpKind::Slice, {i32({0}, {}), at(-1), at(INT64_MIN), zero, at(-1)}, {i32({0}, {})}});
}

TEST(Slice, Inference) {
  const Dim n = sym("N");
  const Known x = typed(DType::F32, {n, 10});
  const auto sliced = [&](const Known& starts, const Known& ends, const Known& axes,
                          const Known& steps, std::string_view text) {
    expect_types(OpKind::Slice, {x, starts, ends, axes, steps}, {}, {text});
  };
  const Value far = Value::of<int64_t>({1}, std::vector<int64_t>{INT64_MAX});
  const Value back = Value::of<int64_t>({1}, std::vector<int64_t>{INT64_MIN});
  sliced(i64({1}, {2}), i64({1}, {-1}), i64({1}, {1}), kAbsent, "f32[N,7]");
  sliced(i64({1}, {0}), far, i64({1}, {0}), kAbsent, "f32[N,10]");
  sliced(i64({1}, {-1}), back, i64({1}, {0}), i64({1}, {-1}), "f32[N,10]");
  sliced(i64({1}, {0}), Known::shape_tensor({n}), i64({1}, {0}), kAbsent, "f32[N,10]");
  sliced(i64({1}, {1}), far, i64({1}, {0}), kAbsent, "f32[?,10]");
  sliced(i64({1}, {0}), typed(DType::I64, {1}), i64({1}, {1}), kAbsent, "f32[N,?]");
  sliced(i64({1}, {0}), i64({1}, {1}), typed(DType::I64, {1}), kAbsent, "f32[?,?]");
  sliced(i64({1}, {0}), i64({1}, {4}), i64({1}, {1}), typed(DType::I64, {1}), "f32[N,?]");
  expect_types(OpKind::Slice, {unranked(DType::F32), i64({1}, {0}), i64({1}, {1})}, {}, {"f32[*]"});
  expect_dims(OpKind::Slice, {Known::shape_tensor({n, 3, 5}), i64({1}, {0}), i64({1}, {2})}, {},
              "[N,3]");
  expect_dims(OpKind::Slice,
              {Known::shape_tensor({n, 3, 5}), i64({1}, {-1}), back, i64({1}, {0}), i64({1}, {-2})},
              {}, "[5,N]");
}

TEST(Slice, Errors) {
  const Known x = typed(DType::F32, {4, 10});
  const auto refuses = [&](std::vector<Known> lists, Code code, std::string_view text) {
    lists.insert(lists.begin(), x);
    expect_infer_error(OpKind::Slice, lists, {}, code, text);
  };
  refuses({i64({1}, {0}), i64({2}, {1, 1})}, Code::ShapeMismatch, "differ in length");
  refuses({i64({1}, {0}), i64({1}, {1}), i64({2}, {0, 1})}, Code::ShapeMismatch,
          "differ in length");
  refuses({i64({1}, {0}), i64({1}, {1}), i64({1}, {2})}, Code::BadValue, "axis 2");
  refuses({i64({2}, {0, 0}), i64({2}, {1, 1}), i64({2}, {1, -1})}, Code::BadValue, "twice");
  refuses({i64({1}, {0}), i64({1}, {1}), i64({1}, {0}), i64({1}, {0})}, Code::BadValue, "zero");
  refuses({f32({1}, {0}), i64({1}, {1})}, Code::TypeMismatch, "integer");
}

// --- pad
// ------------------------------------------------------------------------------------------

TEST(Pad, Modes) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_case({OpKind::Pad,
               {x, i64({4}, {0, 1, 1, 2}), scalar(DType::F32, 9)},
               {f32({3, 6}, {9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9, 9, 9})}});
  expect_case({OpKind::Pad,
               {x, i64({2}, {2, 1}), kAbsent, i64({1}, {-1})},
               {f32({2, 6}, {3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5})},
               PadAttrs{PadMode::Reflect}});
  expect_case({OpKind::Pad,
               {x, i64({4}, {1, 1, 0, 1})},
               {f32({3, 5}, {1, 1, 2, 3, 3, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6})},
               PadAttrs{PadMode::Edge}});
  expect_case({OpKind::Pad,
               {x, i64({4}, {1, 1, 1, 1})},
               {f32({4, 5}, {6, 4, 5, 6, 4, 3, 1, 2, 3, 1, 6, 4, 5, 6, 4, 3, 1, 2, 3, 1})},
               PadAttrs{PadMode::Wrap}});
}

TEST(Pad, LongReflectionsAndWraps) {
  const Value x = u8({3}, {1, 2, 3}), one = u8({1}, {7});
  expect_case({OpKind::Pad,
               {x, i64({2}, {5, 0})},
               {u8({8}, {2, 1, 2, 3, 2, 1, 2, 3})},
               PadAttrs{PadMode::Reflect}});
  expect_case({OpKind::Pad,
               {x, i64({2}, {4, 0})},
               {u8({7}, {3, 1, 2, 3, 1, 2, 3})},
               PadAttrs{PadMode::Wrap}});
  expect_case(
      {OpKind::Pad, {one, i64({2}, {1, 1})}, {u8({3}, {7, 7, 7})}, PadAttrs{PadMode::Reflect}});
}

TEST(Pad, NegativePadsRemove) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_case({OpKind::Pad, {x, i64({4}, {0, -1, 0, 1})}, {f32({2, 3}, {2, 3, 0, 5, 6, 0})}});
  expect_case({OpKind::Pad, {x, i64({4}, {-1, -1, 0, -1})}, {f32({1, 1}, {5})}});
  expect_case({OpKind::Pad, {x, i64({4}, {-1, 0, -1, 0})}, {f32({0, 3}, {})}});
  expect_case({OpKind::Pad, {x, i64({4}, {0, 0, 0, 0})}, {x}});
  expect_case({OpKind::Pad, {f32({0}, {}), i64({2}, {1, 1})}, {f32({2}, {0, 0})}});
}

TEST(Pad, Inference) {
  const Known x = typed(DType::F32, {sym("N"), 3});
  expect_types(OpKind::Pad, {x, i64({4}, {0, 1, 0, 2})}, {}, {"f32[N,6]"});
  expect_types(OpKind::Pad, {x, i64({4}, {1, 1, 0, 2})}, {}, {"f32[?,6]"});
  expect_types(OpKind::Pad, {x, typed(DType::I64, {4})}, {}, {"f32[?,?]"});
  expect_types(OpKind::Pad, {x, typed(DType::I64, {2}), kAbsent, i64({1}, {1})}, {}, {"f32[N,?]"});
  expect_infer_error(OpKind::Pad, {x, i64({4}, {0, -2, 0, -2})}, {}, Code::BadValue, "do not fit");
  expect_infer_error(OpKind::Pad, {x, i64({3}, {0, 1, 0})}, {}, Code::ShapeMismatch, "3 numbers");
  expect_infer_error(OpKind::Pad, {x, i64({4}, {0, 1, 0, 0}), scalar(DType::I8, 0)}, {},
                     Code::TypeMismatch, "different element types");
  expect_infer_error(OpKind::Pad, {typed(DType::F32, {0}), i64({2}, {1, 0})},
                     PadAttrs{PadMode::Edge}, Code::BadValue, "no elements to repeat");
  const Value huge = Value::of<int64_t>({2}, std::vector<int64_t>{INT64_MAX, INT64_MAX});
  expect_infer_error(OpKind::Pad, {typed(DType::F32, {3}), huge}, {}, Code::BadValue, "do not fit");
  const Value tiny = Value::of<int64_t>({2}, std::vector<int64_t>{INT64_MIN, INT64_MIN});
  expect_infer_error(OpKind::Pad, {typed(DType::F32, {3}), tiny}, {}, Code::BadValue, "do not fit");
}

TEST(CenterCropPad, KeepsTheCentre) {
  expect_case(
      {OpKind::CenterCropPad, {f32({5}, {1, 2, 3, 4, 5}), i64({1}, {2})}, {f32({2}, {2, 3})}});
  expect_case(
      {OpKind::CenterCropPad, {f32({2}, {1, 2}), i64({1}, {5})}, {f32({5}, {0, 1, 2, 0, 0})}});
  expect_case({OpKind::CenterCropPad,
               {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1}, {1})},
               {f32({2, 1}, {2, 5})},
               CenterCropPadAttrs{{-1}}});
  expect_case({OpKind::CenterCropPad,
               {f32({3, 1}, {1, 2, 3}), i64({2}, {1, 3})},
               {f32({1, 3}, {0, 2, 0})}});
  expect_types(OpKind::CenterCropPad,
               {typed(DType::F32, {sym("N"), 3}), Known::shape_tensor({8, sym("W")})}, {},
               {"f32[8,W]"});
  expect_infer_error(OpKind::CenterCropPad, {typed(DType::F32, {3}), i64({1}, {-1})}, {},
                     Code::BadValue, "negative");
  expect_infer_error(OpKind::CenterCropPad, {typed(DType::F32, {3}), i64({2}, {1, 1})}, {},
                     Code::ShapeMismatch, "2 sizes");
}

}  // namespace
}  // namespace ec::test
