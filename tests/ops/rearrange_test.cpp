#include <gtest/gtest.h>

#include "ops/op_case.h"

namespace ec::test {
namespace {

TEST(Reverse, Axes) {
  const Value x = i32({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_case({OpKind::Reverse, {x}, {i32({2, 3}, {3, 4, 5, 0, 1, 2})}, ReverseAttrs{.axes = {0}}});
  expect_case(
      {OpKind::Reverse, {x}, {i32({2, 3}, {5, 4, 3, 2, 1, 0})}, ReverseAttrs{.axes = {0, -1}}});
  expect_case({OpKind::Reverse, {x}, {x}, ReverseAttrs{}});
  expect_infer_error(OpKind::Reverse, {typed(DType::F32, {2})}, ReverseAttrs{.axes = {1}},
                     Code::BadValue, "axis 1");
}

TEST(SpaceToBatch, BlocksAndPads) {
  const Value x = ramp(DType::F32, {1, 4, 2, 1}, 1);
  expect_case({OpKind::SpaceToBatch,
               {x, i32({2}, {2, 2}), i32({2, 2}, {0, 0, 0, 0})},
               {f32({4, 2, 1, 1}, {1, 5, 2, 6, 3, 7, 4, 8})}});
  // A padded column in front: it holds zeros.
  expect_case({OpKind::SpaceToBatch,
               {ramp(DType::F32, {1, 2, 3, 1}, 1), i32({2}, {1, 2}), i32({2, 2}, {0, 0, 1, 0})},
               {f32({2, 2, 2, 1}, {0, 2, 0, 5, 1, 3, 4, 6})}});
  // One blocked dimension of two, and a batch of two.
  expect_case({OpKind::SpaceToBatch,
               {ramp(DType::I8, {2, 2, 2}), i32({1}, {2}), i32({1, 2}, {0, 0})},
               {i8({4, 1, 2}, {0, 1, 4, 5, 2, 3, 6, 7})}});
  expect_infer_error(OpKind::SpaceToBatch, {x, i32({2}, {3, 1}), i32({2, 2}, {0, 0, 0, 0})}, {},
                     Code::ShapeMismatch, "divide");
  expect_infer_error(OpKind::SpaceToBatch, {x, i32({2}, {0, 1}), i32({2, 2}, {0, 0, 0, 0})}, {},
                     Code::BadValue, "holds 0");
}

TEST(BatchToSpace, Inverts) {
  expect_case(
      {OpKind::BatchToSpace,
       {f32({4, 2, 1, 1}, {1, 5, 2, 6, 3, 7, 4, 8}), i32({2}, {2, 2}), i32({2, 2}, {0, 0, 0, 0})},
       {ramp(DType::F32, {1, 4, 2, 1}, 1)}});
  expect_case(
      {OpKind::BatchToSpace,
       {f32({2, 2, 2, 1}, {0, 2, 0, 5, 1, 3, 4, 6}), i32({2}, {1, 2}), i32({2, 2}, {0, 0, 1, 0})},
       {ramp(DType::F32, {1, 2, 3, 1}, 1)}});
  expect_infer_error(OpKind::BatchToSpace,
                     {typed(DType::F32, {3, 1, 1, 1}), i32({2}, {2, 2}), i32({2, 2}, {0, 0, 0, 0})},
                     {}, Code::ShapeMismatch, "divide");
  expect_types(
      OpKind::BatchToSpace,
      {typed(DType::F32, {sym("N"), 1, 1, 5}), i32({2}, {2, 2}), i32({2, 2}, {0, 0, 0, 0})}, {},
      {"f32[?,?,?,5]"});
}

TEST(DynamicUpdateSlice, StartsAreClamped) {
  const Value x = ramp(DType::I32, {3, 3}), update = i32({2, 1}, {-1, -2});
  expect_case({OpKind::DynamicUpdateSlice,
               {x, update, i32({2}, {1, 2})},
               {i32({3, 3}, {0, 1, 2, 3, 4, -1, 6, 7, -2})}});
  expect_case({OpKind::DynamicUpdateSlice,
               {x, update, i32({2}, {9, -5})},
               {i32({3, 3}, {0, 1, 2, -1, 4, 5, -2, 7, 8})}});
  expect_infer_error(OpKind::DynamicUpdateSlice,
                     {x, typed(DType::I32, {4, 1}), typed(DType::I32, {2})}, {},
                     Code::ShapeMismatch, "update");
}

TEST(FloorDiv, RoundsDown) {
  expect_case({OpKind::FloorDiv,
               {i32({6}, {7, -7, 7, -7, 6, -6}), i32({6}, {2, 2, -2, -2, 3, 3})},
               {i32({6}, {3, -4, -4, 3, 2, -2})}});
  expect_case({OpKind::FloorDiv, {f32({2}, {7, -7}), f32({1}, {2})}, {f32({2}, {3, -4})}});
  expect_run_error(OpKind::FloorDiv, {i32({1}, {1}), i32({1}, {0})}, {}, "by zero");
}

TEST(SquaredDifference, Broadcasts) {
  expect_case(
      {OpKind::SquaredDifference, {f32({3}, {1, 2, 5}), f32({1}, {3})}, {f32({3}, {4, 1, 4})}});
  expect_case(
      {OpKind::SquaredDifference, {i32({2}, {1, -2}), i32({2}, {4, 2})}, {i32({2}, {9, 16})}});
}

TEST(Atan2, Quadrants) {
  constexpr double kPi = 3.14159265358979;
  expect_case({OpKind::Atan2,
               {f32({4}, {1, 1, -1, 0}), f32({4}, {1, -1, -1, -2})},
               {f32({4}, {kPi / 4, 3 * kPi / 4, -3 * kPi / 4, kPi})}});
}

TEST(FakeQuant, NudgesTheRange) {
  // Four steps of 1 from -1 to 2.
  expect_case({OpKind::FakeQuant,
               {f32({7}, {-5, -1, -0.6, 0.4, 0.5, 1.6, 9})},
               {f32({7}, {-1, -1, -1, 0, 1, 2, 2})},
               FakeQuantAttrs{.min = -1, .max = 2, .num_bits = 2}});
  // The range -0.4 to 2.6 moves to 0 to 3, so that zero is a step.
  expect_case({OpKind::FakeQuant,
               {f32({4}, {-0.4, 0.4, 2.6, 9})},
               {f32({4}, {0, 0, 3, 3})},
               FakeQuantAttrs{.min = -0.4f, .max = 2.6f, .num_bits = 2}});
  expect_infer_error(OpKind::FakeQuant, {typed(DType::F32, {2})},
                     FakeQuantAttrs{.min = 1, .max = 2}, Code::BadValue, "contain zero");
}

TEST(Custom, KeepsItsTypesAndDoesNotRun) {
  const CustomAttrs attrs{.code = "edgetpu-custom-op", .options = "AAE="};
  expect_run_error(OpKind::Custom, {f32({1}, {1})}, attrs, "edgetpu-custom-op");
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::U8, Shape{4}));
  OpSpec spec;
  spec.attrs = attrs;
  auto added = graph.add(OpKind::Custom, {x}, std::move(spec));
  ASSERT_TRUE(added.ok());
  graph.set_type((*added)->output(0), TensorType(DType::U8, Shape{2}));
  graph.add_output("y", (*added)->output(0));
  EXPECT_TRUE(verify(graph).empty());
}

}  // namespace
}  // namespace ec::test
