#include <gtest/gtest.h>

#include <limits>

#include "ops/op_case.h"

namespace ec::test {
namespace {

PoolAttrs pool(std::vector<int64_t> kernel, std::vector<int64_t> strides = {},
               std::vector<int64_t> pads = {}) {
  PoolAttrs attrs;
  attrs.kernel = std::move(kernel);
  attrs.strides = std::move(strides);
  attrs.pads = std::move(pads);
  return attrs;
}

TEST(Pool, ByHand) {
  const auto x = f32({1, 1, 4}, {1, 5, 2, 4});
  expect_case(
      {OpKind::MaxPool, {x}, {f32({1, 1, 2}, {5, 4}), i64({1, 1, 2}, {1, 3})}, pool({2}, {2})});
  PoolAttrs mean = pool({2}, {3}, {1, 1});
  expect_case({OpKind::AvgPool, {x}, {f32({1, 1, 2}, {1, 3})}, mean});
  mean.count_include_pad = true;
  expect_case({OpKind::AvgPool, {x}, {f32({1, 1, 2}, {0.5, 3})}, mean});
  // Rounding up: the last window reads element 3 and hangs over the end, where nothing counts.
  PoolAttrs up = pool({3}, {3});
  up.ceil_mode = up.count_include_pad = true;
  expect_case({OpKind::AvgPool, {x}, {f32({1, 1, 2}, {8.0 / 3, 4})}, up});
  expect_case({OpKind::MaxPool,
               {f32({1, 1, 1}, {2})},
               {f32({1, 1, 3}, {-std::numeric_limits<double>::infinity(), 2,
                                -std::numeric_limits<double>::infinity()})},
               pool({1}, {1}, {1, 1})});
}

TEST(Pool, NotANumberIsTheMaximum) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_case({OpKind::MaxPool,
               {f32({1, 1, 6}, {1, nan, nan, 4, 5, 6})},
               {f32({1, 1, 3}, {nan, nan, 6}), i64({1, 1, 3}, {1, 2, 5})},
               pool({2}, {2})});
  expect_case({OpKind::GlobalMaxPool, {f32({1, 1, 3}, {1, nan, 4})}, {f32({1, 1, 1}, {nan})}});
}

TEST(Pool, OpenDimensionsFlow) {
  const Dim n = sym("N"), h = sym("H");
  expect_types(OpKind::MaxPool, {typed(DType::F32, {n, 3, h, 8})},
               pool({3, 3}, {1, 2}, {1, 1, 1, 1}), {"f32[N,3,H,4]", "i64[N,3,H,4]"});
  expect_types(OpKind::GlobalAvgPool, {typed(DType::F32, {n, 3, h, 8})}, {}, {"f32[N,3,1,1]"});
  GlobalPoolAttrs last;
  last.layout = Layout::ChannelsLast;
  expect_types(OpKind::GlobalMaxPool, {typed(DType::F32, {n, h, 8, 3})}, last, {"f32[N,1,1,3]"});
}

TEST(Pool, Errors) {
  const auto x = typed(DType::F32, {1, 3, 8, 8});
  expect_infer_error(OpKind::MaxPool, {x}, pool({}), Code::BadValue, "entries");
  expect_infer_error(OpKind::MaxPool, {x}, pool({2}), Code::BadValue, "kernel [2]");
  expect_infer_error(OpKind::MaxPool, {x}, pool({9, 9}), Code::ShapeMismatch, "window of 9");
  expect_infer_error(OpKind::AvgPool, {x}, pool({2, 0}), Code::BadValue, "kernel [2,0]");
  expect_infer_error(OpKind::AvgPool, {typed(DType::I32, {1, 1, 4})}, pool({2}), Code::TypeMismatch,
                     "i32");
  LpPoolAttrs lp;
  lp.kernel = {2, 2};
  lp.p = 0;
  expect_infer_error(OpKind::LpPool, {x}, lp, Code::BadValue, "p 0");
  expect_infer_error(OpKind::GlobalAvgPool, {typed(DType::F32, {3})}, {}, Code::ShapeMismatch,
                     "f32[3]");
}

TEST(Pool, HugeWindowsCostNothing) {
  PoolAttrs attrs = pool({1 << 30, 1 << 30}, {}, {(1 << 30) - 1, (1 << 30) - 1, 0, 0});
  attrs.count_include_pad = true;
  expect_case({OpKind::AvgPool, {f32({1, 1, 1, 1}, {1})}, {f32({1, 1, 1, 1}, {0})}, attrs});
}

TEST(MaxUnpool, Errors) {
  MaxUnpoolAttrs attrs;
  attrs.kernel = {2};
  attrs.strides = {2};
  const auto x = f32({1, 1, 2}, {1, 2});
  expect_case(
      {OpKind::MaxUnpool, {x, i64({1, 1, 2}, {0, 3})}, {f32({1, 1, 4}, {1, 0, 0, 2})}, attrs});
  expect_run_error(OpKind::MaxUnpool, {x, i64({1, 1, 2}, {0, 4})}, attrs, "index 4");
  expect_run_error(OpKind::MaxUnpool, {x, i64({1, 1, 2}, {0, -1})}, attrs, "index -1");
  expect_infer_error(OpKind::MaxUnpool,
                     {typed(DType::F32, {1, 1, 2}), typed(DType::I64, {1, 1, 3})}, attrs,
                     Code::ShapeMismatch, "differ");
  expect_infer_error(
      OpKind::MaxUnpool,
      {typed(DType::F32, {1, 1, 2}), typed(DType::I64, {1, 1, 2}), i64({3}, {1, 1, 3})}, attrs,
      Code::ShapeMismatch, "smaller");
}

TEST(RoiPools, Errors) {
  const auto x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  MaxRoiPoolAttrs pooled;
  pooled.pooled = {1, 1};
  expect_case(
      {OpKind::MaxRoiPool, {x, f32({1, 5}, {0, 0, 0, 0, 1})}, {f32({1, 1, 1, 1}, {3})}, pooled});
  expect_run_error(OpKind::MaxRoiPool, {x, f32({1, 5}, {1, 0, 0, 0, 1})}, pooled, "image 1 of 1");
  pooled.pooled = {0, 1};
  expect_infer_error(OpKind::MaxRoiPool,
                     {typed(DType::F32, {1, 1, 2, 2}), typed(DType::F32, {1, 5})}, pooled,
                     Code::BadValue, "pooled");
  const RoiAlignAttrs align;
  expect_run_error(OpKind::RoiAlign, {x, f32({1, 4}, {0, 0, 1, 1}), i64({1}, {-1})}, align,
                   "image -1");
  expect_run_error(OpKind::RoiAlign, {x, f32({1, 4}, {0, 0, 1e30, 1}), i64({1}, {0})}, align,
                   "too large");
  expect_types(OpKind::RoiAlign,
               {typed(DType::F32, {1, 3, 8, 8}), typed(DType::F32, {sym("R"), 4}),
                typed(DType::I64, {sym("R")})},
               align, {"f32[R,3,1,1]"});
  expect_infer_error(
      OpKind::RoiAlign,
      {typed(DType::F32, {1, 3, 8, 8}), typed(DType::F32, {2, 4}), typed(DType::I64, {3})}, align,
      Code::ShapeMismatch, "i64[3]");
}

}  // namespace
}  // namespace ec::test
