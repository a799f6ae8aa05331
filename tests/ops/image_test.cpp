#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_case.h"
#include "ops/resize_taps.h"

namespace ec::test {
namespace {

TEST(Resize, ByHand) {
  ResizeAttrs linear;
  linear.mode = ResizeMode::Linear;
  const Value scales = f32({1}, {2});
  expect_case(
      {OpKind::Resize, {f32({2}, {0, 4}), kAbsent, scales}, {f32({4}, {0, 1, 3, 4})}, linear});
  ResizeAttrs nearest;
  nearest.coordinates = CoordinateMode::Asymmetric;
  nearest.nearest = NearestMode::Floor;
  expect_case({OpKind::Resize,
               {boolean({2}, {1, 0}), kAbsent, scales},
               {boolean({4}, {1, 1, 0, 0})},
               nearest});
  // Single-precision scales: element 3 of the result is element 10 of the input.
  expect_case({OpKind::Resize,
               {ramp(DType::F32, {20}), kAbsent, f32({1}, {0.3})},
               {f32({6}, {0, 3, 6, 10, 13, 16})},
               nearest});
}

TEST(Resize, Inference) {
  const Dim n = sym("N"), h = sym("H");
  const auto x = typed(DType::F32, {n, 3, h, 8});
  expect_types(OpKind::Resize, {x, kAbsent, f32({4}, {1, 1, 2, 0.5})}, {}, {"f32[N,3,?,4]"});
  expect_types(OpKind::Resize, {x, kAbsent, kAbsent, Known::shape_tensor({n, 3, sym("H2"), 16})},
               {}, {"f32[N,3,H2,16]"});
  expect_types(OpKind::Resize, {x, kAbsent, f32({0}, {}), typed(DType::I64, {4})}, {},
               {"f32[?,?,?,?]"});
  ResizeAttrs image;
  image.axes = {2, -1};
  expect_types(OpKind::Resize, {x, kAbsent, typed(DType::F32, {2})}, image, {"f32[N,3,?,?]"});
  image.aspect = AspectPolicy::NotLarger;
  expect_types(OpKind::Resize,
               {typed(DType::F32, {n, 3, 4, 6}), kAbsent, kAbsent, i64({2}, {8, 9})}, image,
               {"f32[N,3,6,9]"});
  expect_types(OpKind::Resize, {x, kAbsent, kAbsent, i64({2}, {8, 9})}, image, {"f32[N,3,?,?]"});
}

TEST(Resize, Errors) {
  const auto x = typed(DType::F32, {1, 3, 4, 4});
  expect_infer_error(OpKind::Resize, {x}, {}, Code::BadArity, "either");
  expect_infer_error(OpKind::Resize, {x, kAbsent, typed(DType::F32, {4}), typed(DType::I64, {4})},
                     {}, Code::BadArity, "either");
  expect_infer_error(OpKind::Resize, {x, kAbsent, f32({2}, {2, 2})}, {}, Code::ShapeMismatch,
                     "4 elements");
  for (const double scale : {0.0, -1.0, double{NAN}, double{INFINITY}, 1e30})
    expect_infer_error(OpKind::Resize, {x, kAbsent, f32({4}, {1, 1, scale, 1})}, {}, Code::BadValue,
                       "scale");
  expect_infer_error(OpKind::Resize, {x, kAbsent, kAbsent, i64({4}, {1, 1, -1, 1})}, {},
                     Code::BadValue, "-1");
  expect_infer_error(OpKind::Resize, {typed(DType::F32, {0}), kAbsent, kAbsent, i64({1}, {2})}, {},
                     Code::ShapeMismatch, "empty");
  ResizeAttrs attrs;
  attrs.axes = {1, 1};
  expect_infer_error(OpKind::Resize, {x, kAbsent, f32({2}, {2, 2})}, attrs, Code::BadValue,
                     "twice");
  attrs.axes = {4};
  expect_infer_error(OpKind::Resize, {x, kAbsent, f32({1}, {2})}, attrs, Code::BadValue, "axis 4");
  attrs.axes = {};
  attrs.coordinates = CoordinateMode::CropAndResize;
  expect_infer_error(OpKind::Resize, {x, kAbsent, f32({4}, {1, 1, 2, 2})}, attrs, Code::BadArity,
                     "roi");
}

TEST(Resize, TapsStayInside) {
  ResizeAttrs attrs;
  attrs.antialias = true;
  for (const ResizeMode mode : {ResizeMode::Linear, ResizeMode::Cubic}) {
    attrs.mode = mode;
    const ResizeTaps taps = resize_taps(attrs, {1000, 3, 0.0035, 0.0, 1.0});
    ASSERT_EQ(taps.index.size(), taps.weight.size());
    for (const int64_t index : taps.index) EXPECT_TRUE(index >= 0 && index < 1000);
    for (size_t o = 0; o < 3; ++o) {
      double sum = 0;
      for (size_t t = 0; t < static_cast<size_t>(taps.per_output); ++t)
        sum += taps.weight[o * static_cast<size_t>(taps.per_output) + t];
      EXPECT_NEAR(sum, 1.0, 1e-9);
    }
  }
}

TEST(ResizeTaps, AnImageOfNothingHasSmallOnes) {
  ResizeAttrs attrs;
  attrs.antialias = true;
  for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic}) {
    attrs.mode = mode;
    const ResizeAxis axis{4, 0, 0.0};
    EXPECT_TRUE(has_small_taps(attrs, axis));
    EXPECT_TRUE(resize_taps(attrs, axis).index.empty());
  }
}

TEST(GridSample, HostilePoints) {
  const double inf = INFINITY, nan = NAN;
  const auto x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto grid = f32({1, 1, 4, 2}, {nan, nan, inf, -inf, 1e38, -1e38, 0, 0});
  for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic})
    for (const BorderMode border :
         {BorderMode::Zeros, BorderMode::Border, BorderMode::Reflection}) {
      GridSampleAttrs attrs{mode, border, false};
      EXPECT_TRUE(run_op(OpKind::GridSample, {x, grid}, attrs).ok());
      attrs.align_corners = true;
      EXPECT_TRUE(run_op(OpKind::GridSample, {f32({1, 1, 1, 1}, {5}), grid}, attrs).ok());
    }
  expect_run_error(OpKind::GridSample, {f32({1, 1, 0, 2}, {}), f32({1, 1, 1, 2}, {0, 0})}, {},
                   "no elements");
}

TEST(GridSample, Inference) {
  const Dim n = sym("N"), h = sym("H");
  expect_types(OpKind::GridSample,
               {typed(DType::F32, {n, 3, 8, 8}), typed(DType::F32, {n, h, 5, 2})}, {},
               {"f32[N,3,H,5]"});
  expect_types(OpKind::GridSample, {unranked(DType::F32), typed(DType::F32, {n, h, 5, 2})}, {},
               {"f32[N,?,H,5]"});
  expect_infer_error(OpKind::GridSample,
                     {typed(DType::F32, {1, 3, 8, 8}), typed(DType::F32, {1, 5, 5, 3})}, {},
                     Code::ShapeMismatch, "f32[1,5,5,3]");
  expect_types(OpKind::AffineGrid,
               {typed(DType::F32, {n, 2, 3}), Known::shape_tensor({n, 3, h, 5})}, {},
               {"f32[N,H,5,2]"});
  expect_types(OpKind::AffineGrid, {typed(DType::F32, {n, 3, 4}), typed(DType::I64, {5})}, {},
               {"f32[N,?,?,?,3]"});
  expect_infer_error(OpKind::AffineGrid, {typed(DType::F32, {1, 2, 3}), i64({5}, {1, 1, 2, 2, 2})},
                     {}, Code::ShapeMismatch, "do not fit");
}

TEST(Blocks, Inference) {
  DepthToSpaceAttrs up;
  up.block = 2;
  expect_types(OpKind::DepthToSpace, {typed(DType::F32, {sym("N"), 12, 4, sym("W")})}, up,
               {"f32[N,3,8,?]"});
  expect_infer_error(OpKind::DepthToSpace, {typed(DType::F32, {1, 6, 4, 4})}, up,
                     Code::ShapeMismatch, "no multiple of 4");
  up.block = 0;
  expect_infer_error(OpKind::DepthToSpace, {typed(DType::F32, {1, 4, 4, 4})}, up, Code::BadValue,
                     "block 0");
  SpaceToDepthAttrs down;
  down.block = 2;
  down.layout = Layout::ChannelsLast;
  expect_types(OpKind::SpaceToDepth, {typed(DType::I8, {1, 4, 6, 3})}, down, {"i8[1,2,3,12]"});
  expect_infer_error(OpKind::SpaceToDepth, {typed(DType::I8, {1, 4, 5, 3})}, down,
                     Code::ShapeMismatch, "5 of");
  expect_infer_error(OpKind::SpaceToDepth, {typed(DType::I8, {4, 5, 3})}, down, Code::ShapeMismatch,
                     "rank 4");
}

TEST(Nms, Behaviour) {
  const auto boxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3});
  const auto scores = f32({1, 1, 3}, {0.5, 0.9, 0.7});
  const auto most = i64({}, {10});
  expect_case({OpKind::NonMaxSuppression,
               {boxes, scores, most, f32({}, {0.5})},
               {i64({2, 3}, {0, 0, 1, 0, 0, 2})}});
  // Without a number of boxes nothing is selected.
  expect_case({OpKind::NonMaxSuppression, {boxes, scores}, {i64({0, 3}, {})}});
  expect_case({OpKind::NonMaxSuppression,
               {boxes, f32({1, 1, 3}, {NAN, 0.9, NAN}), most, f32({}, {0.5}), f32({}, {0})},
               {i64({1, 3}, {0, 0, 1})}});
  expect_infer_error(OpKind::NonMaxSuppression,
                     {typed(DType::F32, {1, 3, 5}), typed(DType::F32, {1, 1, 3})}, {},
                     Code::ShapeMismatch, "4]");
  expect_infer_error(OpKind::NonMaxSuppression,
                     {typed(DType::F32, {1, 3, 4}), typed(DType::F32, {1, 1, 4})}, {},
                     Code::ShapeMismatch, "do not fit");
}

}  // namespace
}  // namespace ec::test
