#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "ops/op_case.h"

namespace ec::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

ReduceAttrs dropping() { return ReduceAttrs{.keep_dims = false}; }

TEST(Reduce, EveryKindOverOneAxis) {
  const Value x = f32({2, 3}, {1, -2, 3, -4, 5, -6});
  const Value axes = i64({1}, {1});
  const auto expect = [&](OpKind kind, std::vector<double> y) {
    expect_case({kind, {x, axes}, {f32({2, 1}, y)}});
    expect_case({kind, {x, axes}, {f32({2}, y)}, dropping()});
  };
  expect(OpKind::ReduceSum, {2, -5});
  expect(OpKind::ReduceMean, {2.0 / 3, -5.0 / 3});
  expect(OpKind::ReduceMax, {3, 5});
  expect(OpKind::ReduceMin, {-2, -6});
  expect(OpKind::ReduceProd, {-6, 120});
  expect(OpKind::ReduceL1, {6, 15});
  expect(OpKind::ReduceL2, {std::sqrt(14.0), std::sqrt(77.0)});
  expect(OpKind::ReduceLogSum, {std::log(2.0), kNan});
  expect(OpKind::ReduceLogSumExp, {3.1328456, 5.0001400});
  expect(OpKind::ReduceSumSquare, {14, 77});
}

// Sums over every set of axes against sums by index.
TEST(Reduce, EverySetOfAxes) {
  const Sizes shape = {2, 3, 1, 4};
  const Value x = ramp(DType::F32, shape);
  for (unsigned set = 1; set < 16; ++set) {
    std::vector<double> axes;
    Sizes kept = shape;
    for (size_t d = 0; d < 4; ++d)
      if (set >> d & 1u) {
        axes.push_back(static_cast<double>(d) - (d % 2 == 0 ? 4.0 : 0.0));
        kept[d] = 1;
      }
    std::vector<double> sums(static_cast<size_t>(count_elements(kept)), 0.0);
    for (int64_t i = 0; i < 24; ++i) {
      int64_t rest = i, at = 0, step = 1;
      for (size_t d = 4; d-- > 0;) {
        const int64_t index = rest % shape[d];
        rest /= shape[d];
        if (kept[d] != 1) at += index * step;
        step *= kept[d];
      }
      sums[static_cast<size_t>(at)] += static_cast<double>(i);
    }
    expect_case({OpKind::ReduceSum,
                 {x, i64({static_cast<int64_t>(axes.size())}, axes)},
                 {f32(kept, sums)}});
  }
}

TEST(Reduce, AxesAbsentOrEmpty) {
  const Value x = f32({2, 2}, {1, 2, 3, -4});
  const Value none = i64({0}, {});
  expect_case({OpKind::ReduceSum, {x}, {f32({1, 1}, {2})}});
  expect_case({OpKind::ReduceSum, {x, none}, {f32({}, {2})}, dropping()});
  const ReduceAttrs noop{.keep_dims = true, .noop_with_empty_axes = true};
  expect_case({OpKind::ReduceSum, {x, none}, {x}, noop});
  expect_case({OpKind::ReduceSumSquare, {x}, {f32({2, 2}, {1, 4, 9, 16})}, noop});
  expect_case({OpKind::ReduceL1, {x, none}, {f32({2, 2}, {1, 2, 3, 4})}, noop});
  expect_case({OpKind::ReduceSum, {f32({}, {3})}, {f32({}, {3})}});
}

TEST(Reduce, EmptyInputs) {
  const Value x = f32({2, 0}, {});
  const Value axes = i64({1}, {1});
  expect_case({OpKind::ReduceSum, {x, axes}, {f32({2, 1}, {0, 0})}});
  expect_case({OpKind::ReduceProd, {x, axes}, {f32({2, 1}, {1, 1})}});
  expect_case({OpKind::ReduceMean, {x, axes}, {f32({2, 1}, {kNan, kNan})}});
  expect_case({OpKind::ReduceMax, {x, axes}, {f32({2, 1}, {-kInf, -kInf})}});
  expect_case({OpKind::ReduceMin, {x, axes}, {f32({2, 1}, {kInf, kInf})}});
  expect_case({OpKind::ReduceLogSumExp, {x, axes}, {f32({2, 1}, {-kInf, -kInf})}});
  expect_case({OpKind::ReduceMax, {i8({0}, {})}, {i8({1}, {-128})}});
  expect_case({OpKind::ReduceMin, {u8({0}, {})}, {u8({1}, {255})}});
  expect_case({OpKind::ReduceMean, {i32({0}, {})}, {i32({1}, {0})}});
  expect_case({OpKind::ReduceSum, {x, i64({1}, {0})}, {f32({1, 0}, {})}});
}

TEST(Reduce, ElementTypes) {
  expect_case({OpKind::ReduceSum, {u8({3}, {200, 100, 1})}, {u8({1}, {45})}});
  expect_case({OpKind::ReduceMean, {i32({3}, {-5, -4, 2})}, {i32({1}, {-2})}});
  expect_case({OpKind::ReduceProd, {i64({3}, {-5, 4, 2})}, {i64({1}, {-40})}});
  expect_case({OpKind::ReduceL2, {i32({2}, {3, 4})}, {i32({1}, {5})}});
  expect_case({OpKind::ReduceMax, {boolean({2}, {0, 1})}, {boolean({1}, {1})}});
  expect_case({OpKind::ReduceMin, {boolean({2}, {0, 1})}, {boolean({1}, {0})}});
  expect_case({OpKind::ReduceMax, {f32({3}, {1, kNan, 2})}, {f32({1}, {kNan})}});
  expect_case({OpKind::ReduceMin, {f32({3}, {kNan, 1, 2})}, {f32({1}, {kNan})}});
  expect_case({OpKind::ReduceSum,
               {tensor(DType::F16, {3}, {2048, 1, 1})},
               {tensor(DType::F16, {1}, {2050})}});
  expect_case({OpKind::ReduceLogSumExp, {f32({2}, {1000, 1000})}, {f32({1}, {1000.693147})}});
  expect_case({OpKind::ReduceLogSumExp, {f32({2}, {kInf, 0})}, {f32({1}, {kInf})}});
}

// 2^24 + 1 + ... in single precision would lose every one of the small terms.
TEST(Reduce, FloatSumsDoNotDrift) {
  std::vector<double> x(1 << 16, 1.0);
  x[0] = 1 << 24;
  expect_case(
      {OpKind::ReduceSum, {f32({1 << 16}, x)}, {f32({1}, {16777216.0 + 65535.0})}, {}, 1e-7});
}

TEST(Reduce, Inference) {
  const Known x = typed(DType::F32, {sym("N"), 3, 4});
  expect_types(OpKind::ReduceMean, {x, i64({2}, {-1, 1})}, {}, {"f32[N,1,1]"});
  expect_types(OpKind::ReduceMean, {x, i64({2}, {-1, 1})}, dropping(), {"f32[N]"});
  expect_types(OpKind::ReduceMean, {x, typed(DType::I64, {2})}, {}, {"f32[?,?,?]"});
  expect_types(OpKind::ReduceMean, {x, typed(DType::I64, {2})}, dropping(), {"f32[?]"});
  expect_types(OpKind::ReduceMean, {x, typed(DType::I64, {sym("K")})}, dropping(), {"f32[*]"});
  expect_types(OpKind::ReduceMean, {unranked(DType::F32)}, dropping(), {"f32[]"});
  expect_types(OpKind::ReduceMean, {unranked(DType::F32)}, {}, {"f32[*]"});
  expect_infer_error(OpKind::ReduceMean, {x, i64({1}, {3})}, {}, Code::BadValue, "axis 3");
  expect_infer_error(OpKind::ReduceMean, {x, i64({2}, {0, -3})}, {}, Code::BadValue, "twice");
  expect_infer_error(OpKind::ReduceMean, {x, f32({1}, {0})}, {}, Code::TypeMismatch, "integer");
  expect_infer_error(OpKind::ReduceMean, {typed(DType::Bool, {2})}, {}, Code::TypeMismatch,
                     "numeric");
  const Known shape = Known::shape_tensor({2, 3, 4});
  expect_dims(OpKind::ReduceProd, {shape, i64({1}, {0})}, dropping(), "[24]");
  expect_dims(OpKind::ReduceSum, {shape}, {}, "[9]");
  expect_dims(OpKind::ReduceMax, {shape}, {}, "[4]");
  expect_dims(OpKind::ReduceProd, {Known::shape_tensor({1, sym("N"), 1})}, {}, "[N]");
  expect_dims(OpKind::ReduceProd, {Known::shape_tensor({2, sym("N")})}, {}, "none");
}

TEST(ArgReduce, FirstAndLast) {
  const Value x = f32({2, 4}, {1, 7, 7, 0, -1, -1, -3, -3});
  expect_case({OpKind::ArgMax, {x}, {i64({2, 1}, {1, 0})}, ArgReduceAttrs{.axis = -1}});
  expect_case({OpKind::ArgMax,
               {x},
               {i64({2}, {2, 1})},
               ArgReduceAttrs{.axis = 1, .keep_dims = false, .select_last = true}});
  expect_case(
      {OpKind::ArgMin, {x}, {i64({2}, {3, 2})}, ArgReduceAttrs{.axis = 1, .keep_dims = false}});
  expect_case({OpKind::ArgMin, {x}, {i64({1, 4}, {1, 1, 1, 1})}, ArgReduceAttrs{}});
  expect_case({OpKind::ArgMax, {f32({3}, {1, kNan, 9})}, {i64({1}, {1})}, ArgReduceAttrs{}});
  expect_case({OpKind::ArgMin, {f32({3}, {1, kNan, 0})}, {i64({1}, {1})}, ArgReduceAttrs{}});
  expect_case(
      {OpKind::ArgMax, {u8({2, 2}, {3, 1, 200, 4})}, {i64({1, 2}, {1, 1})}, ArgReduceAttrs{}});
  expect_types(OpKind::ArgMax, {typed(DType::F32, {sym("N"), 10})},
               ArgReduceAttrs{.axis = 1, .keep_dims = false}, {"i64[N]"});
  expect_infer_error(OpKind::ArgMax, {typed(DType::F32, {2, 0})}, ArgReduceAttrs{.axis = 1},
                     Code::ShapeMismatch, "no elements");
  expect_infer_error(OpKind::ArgMin, {typed(DType::F32, {2})}, ArgReduceAttrs{.axis = 1},
                     Code::BadValue, "axis 1");
}

TEST(Cumulative, Directions) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value axis = scalar(DType::I32, 1);
  expect_case({OpKind::CumSum, {x, axis}, {f32({2, 3}, {1, 3, 6, 4, 9, 15})}});
  expect_case({OpKind::CumSum,
               {x, axis},
               {f32({2, 3}, {0, 1, 3, 0, 4, 9})},
               CumulativeAttrs{.exclusive = true}});
  expect_case({OpKind::CumSum,
               {x, axis},
               {f32({2, 3}, {6, 5, 3, 15, 11, 6})},
               CumulativeAttrs{.reverse = true}});
  expect_case({OpKind::CumSum,
               {x, scalar(DType::I64, -2)},
               {f32({2, 3}, {4, 5, 6, 0, 0, 0})},
               CumulativeAttrs{.exclusive = true, .reverse = true}});
  expect_case({OpKind::CumProd, {x, axis}, {f32({2, 3}, {1, 2, 6, 4, 20, 120})}});
  expect_case({OpKind::CumProd,
               {x, axis},
               {f32({2, 3}, {6, 3, 1, 30, 6, 1})},
               CumulativeAttrs{.exclusive = true, .reverse = true}});
  expect_case({OpKind::CumSum, {u8({2}, {200, 100}), i64({1}, {0})}, {u8({2}, {200, 44})}});
  expect_infer_error(OpKind::CumSum, {typed(DType::F32, {2}), i64({}, {1})}, {}, Code::BadValue,
                     "axis 1");
  expect_infer_error(OpKind::CumSum, {typed(DType::F32, {2}), f32({}, {0})}, {}, Code::TypeMismatch,
                     "integer");
  // An axis known only at run time is checked there.
  expect_run_error(OpKind::CumSum, {x, i64({}, {5})}, {}, "axis 5");
}

TEST(TopK, OrderAndTies) {
  const Value x = f32({2, 4}, {3, 1, 3, kNan, 0, -1, 5, -1});
  const Value k = i64({1}, {2});
  expect_case({OpKind::TopK,
               {x, k},
               {f32({2, 2}, {kNan, 3, 5, 0}), i64({2, 2}, {3, 0, 2, 0})},
               TopKAttrs{}});
  expect_case({OpKind::TopK,
               {x, k},
               {f32({2, 2}, {1, 3, -1, -1}), i64({2, 2}, {1, 0, 1, 3})},
               TopKAttrs{.largest = false}});
  expect_case({OpKind::TopK,
               {i32({3, 2}, {1, 9, 5, 9, 3, 2}), k},
               {i32({2, 2}, {5, 9, 3, 9}), i64({2, 2}, {1, 0, 2, 1})},
               TopKAttrs{.axis = 0}});
  expect_case({OpKind::TopK, {x, i64({}, {0})}, {f32({2, 0}, {}), i64({2, 0}, {})}, TopKAttrs{}});
}

TEST(TopK, Inference) {
  const Known x = typed(DType::F32, {sym("N"), 10});
  expect_types(OpKind::TopK, {x, i64({1}, {3})}, TopKAttrs{}, {"f32[N,3]", "i64[N,3]"});
  expect_types(OpKind::TopK, {x, typed(DType::I64, {1})}, TopKAttrs{}, {"f32[N,?]", "i64[N,?]"});
  expect_types(OpKind::TopK, {x, Known::shape_tensor({sym("K")})}, TopKAttrs{},
               {"f32[N,K]", "i64[N,K]"});
  expect_infer_error(OpKind::TopK, {x, i64({1}, {11})}, TopKAttrs{}, Code::BadValue, "k is 11", 2);
  expect_infer_error(OpKind::TopK, {x, i64({1}, {-1})}, TopKAttrs{}, Code::BadValue, "negative", 2);
  expect_infer_error(OpKind::TopK, {x, i64({2}, {1, 1})}, TopKAttrs{}, Code::ShapeMismatch,
                     "one element", 2);
  expect_infer_error(OpKind::TopK, {x, i64({1}, {1})}, TopKAttrs{.axis = 2}, Code::BadValue,
                     "axis 2", 2);
}

}  // namespace
}  // namespace ec::test
