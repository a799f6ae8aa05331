#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_case.h"

namespace ec::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Softmax, Axes) {
  const Value x = f32({2, 4}, {1, 2, 3, 4, 2, -2, 0.5, 8});
  expect_case({OpKind::Softmax,
               {x},
               {f32({2, 4}, {0.0320586033, 0.0871443187, 0.236882818, 0.643914260, 2.471147870e-03,
                             4.526065203e-05, 5.513876201e-04, 0.9969322039})},
               AxisAttrs{-1}});
  expect_case({OpKind::Softmax,
               {x},
               {f32({2, 4}, {0.268941421, 0.982013790, 0.924141820, 0.0179862100, 0.731058579,
                             0.0179862100, 0.0758581800, 0.982013790})},
               AxisAttrs{0}});
  expect_case({OpKind::LogSoftmax,
               {x},
               {f32({2, 4}, {-3.44018970, -2.44018970, -1.44018970, -0.44018970, -6.003072511,
                             -10.00307251, -7.503072511, -0.003072511475})},
               AxisAttrs{1}});
  expect_case({OpKind::Softmax, {f32({2}, {1000, 1000})}, {f32({2}, {0.5, 0.5})}, AxisAttrs{0}});
  expect_case({OpKind::Softmax, {f32({2}, {-kInf, 0})}, {f32({2}, {0, 1})}, AxisAttrs{0}});
  expect_case({OpKind::Softmax, {f32({2}, {kNan, 0})}, {f32({2}, {kNan, kNan})}, AxisAttrs{0}});
  expect_case({OpKind::Softmax,
               {tensor(DType::F16, {2}, {0, 0})},
               {tensor(DType::F16, {2}, {0.5, 0.5})},
               AxisAttrs{0}});
  expect_case({OpKind::Softmax, {f32({0, 3}, {})}, {f32({0, 3}, {})}, AxisAttrs{1}});
  expect_infer_error(OpKind::Softmax, {typed(DType::F32, {2})}, AxisAttrs{1}, Code::BadValue,
                     "axis 1");
}

TEST(Hardmax, FirstMaximum) {
  expect_case({OpKind::Hardmax,
               {f32({2, 3}, {1, 3, 3, -1, -2, -1})},
               {f32({2, 3}, {0, 1, 0, 1, 0, 0})},
               AxisAttrs{1}});
  expect_case(
      {OpKind::Hardmax, {f32({2, 2}, {1, 3, 2, kNan})}, {f32({2, 2}, {0, 0, 1, 1})}, AxisAttrs{0}});
}

TEST(BatchNorm, BothLayouts) {
  const BatchNormAttrs last{.epsilon = 0.0f, .layout = Layout::ChannelsLast};
  const BatchNormAttrs first{.epsilon = 0.0f};
  const Value scale = f32({2}, {2, 1}), bias = f32({2}, {1, 0}), mean = f32({2}, {1, 2}),
              var = f32({2}, {4, 0.25});
  expect_case({OpKind::BatchNorm,
               {f32({1, 2, 2}, {1, 3, 2, 4}), scale, bias, mean, var},
               {f32({1, 2, 2}, {1, 3, 0, 4})},
               first});
  expect_case({OpKind::BatchNorm,
               {f32({1, 2, 2}, {1, 2, 3, 4}), scale, bias, mean, var},
               {f32({1, 2, 2}, {1, 0, 3, 4})},
               last});
  // A list of samples has one channel.
  expect_case({OpKind::BatchNorm,
               {f32({3}, {1, 2, 3}), f32({1}, {2}), f32({1}, {1}), f32({1}, {1}), f32({1}, {4})},
               {f32({3}, {1, 2, 3})},
               first});
}

TEST(BatchNorm, Training) {
  expect_case(
      {OpKind::BatchNorm,
       {f32({2, 1, 2}, {1, 3, 5, 7}), f32({1}, {1}), f32({1}, {0}), f32({1}, {10}), f32({1}, {1})},
       {f32({2, 1, 2}, {-1.34164079, -0.447213595, 0.447213595, 1.34164079}), f32({1}, {8.8}),
        f32({1}, {1.8})},
       BatchNormAttrs{.epsilon = 0.0f, .momentum = 0.8f, .training = true}});
}

TEST(BatchNorm, Inference) {
  const Known x = typed(DType::F16, {sym("N"), 3, 8});
  const Known p = typed(DType::F32, {3});
  expect_types(OpKind::BatchNorm, {x, p, p, p, p}, {}, {"f16[N,3,8]", "f32[3]", "f32[3]"});
  expect_infer_error(OpKind::BatchNorm, {x, p, p, p, typed(DType::F32, {4})}, {},
                     Code::ShapeMismatch, "3 channels");
  expect_infer_error(OpKind::BatchNorm, {typed(DType::F32, {}), p, p, p, p}, {},
                     Code::ShapeMismatch, "rank 1");
  expect_infer_error(OpKind::BatchNorm, {x, p, p, p, typed(DType::I32, {3})}, {},
                     Code::TypeMismatch, "floating point");
}

TEST(GroupNorm, GroupsAndInstances) {
  const Value x = ramp(DType::F32, {2, 4, 2});
  const Value scale = f32({4}, {1, 2, 3, 4}), bias = f32({4}, {0, 1, 0, -1});
  // Every group is four consecutive numbers: -3, -1, 1, 3 over sqrt(5).
  const double a = 3 / std::sqrt(5.0), b = 1 / std::sqrt(5.0);
  std::vector<double> y;
  for (int n = 0; n < 2; ++n)
    y.insert(y.end(), {-a, -b, 2 * b + 1, 2 * a + 1, -3 * a, -3 * b, 4 * b - 1, 4 * a - 1});
  expect_case({OpKind::GroupNorm,
               {x, scale, bias},
               {f32({2, 4, 2}, y)},
               GroupNormAttrs{.groups = 2, .epsilon = 0.0f}});
  // The same numbers with channels last: [n, s, c].
  const Value x_last = f32({1, 2, 4}, {0, 2, 4, 6, 1, 3, 5, 7});
  expect_case({OpKind::GroupNorm,
               {x_last, scale, bias},
               {f32({1, 2, 4}, {y[0], y[2], y[4], y[6], y[1], y[3], y[5], y[7]})},
               GroupNormAttrs{.groups = 2, .epsilon = 0.0f, .layout = Layout::ChannelsLast}});
  expect_case({OpKind::InstanceNorm,
               {ramp(DType::F32, {1, 2, 2}), f32({2}, {1, 2}), f32({2}, {0, 1})},
               {f32({1, 2, 2}, {-1, 1, -1, 3})},
               InstanceNormAttrs{.epsilon = 0.0f}});
  expect_case({OpKind::InstanceNorm,
               {f32({1, 2, 2}, {0, 2, 1, 3}), f32({2}, {1, 2}), f32({2}, {0, 1})},
               {f32({1, 2, 2}, {-1, -1, 1, 3})},
               InstanceNormAttrs{.epsilon = 0.0f, .layout = Layout::ChannelsLast}});
  const Known p = typed(DType::F32, {4});
  expect_infer_error(OpKind::GroupNorm, {typed(DType::F32, {1, 4, 2}), p, p},
                     GroupNormAttrs{.groups = 3}, Code::BadValue, "3 groups");
  expect_infer_error(OpKind::GroupNorm, {typed(DType::F32, {1, 4, 2}), p, p},
                     GroupNormAttrs{.groups = 0}, Code::BadValue, "groups 0");
  expect_infer_error(OpKind::InstanceNorm, {typed(DType::F32, {4}), p, p}, {}, Code::ShapeMismatch,
                     "rank 2");
}

TEST(LayerNorm, ParametersAndStatistics) {
  const double a = 3 / std::sqrt(5.0), b = 1 / std::sqrt(5.0);
  const Value x = f32({2, 2, 2}, {1, 2, 3, 4, 2, 4, 6, 8});
  const LayerNormAttrs attrs{.axis = 1, .epsilon = 0.0f};
  const Value normal = f32({2, 2, 2}, {-a, -b, b, a, -a, -b, b, a});
  expect_case({OpKind::LayerNorm, {x}, {normal}, attrs});
  expect_case({OpKind::LayerNorm,
               {x, f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {0, 0, 0, 1})},
               {f32({2, 2, 2}, {-a, -2 * b, 3 * b, 4 * a + 1, -a, -2 * b, 3 * b, 4 * a + 1}),
                f32({2, 1, 1}, {2.5, 5}), f32({2, 1, 1}, {2 * b, b})},
               attrs});
  // Parameters broadcast: one value, part of a row, and different per row.
  expect_case(
      {OpKind::LayerNorm,
       {x, f32({}, {2}), f32({2}, {0, 1})},
       {f32({2, 2, 2}, {-2 * a, 1 - 2 * b, 2 * b, 1 + 2 * a, -2 * a, 1 - 2 * b, 2 * b, 1 + 2 * a})},
       attrs});
  expect_case({OpKind::LayerNorm,
               {x, f32({2, 1, 1}, {1, 2})},
               {f32({2, 2, 2}, {-a, -b, b, a, -2 * a, -2 * b, 2 * b, 2 * a})},
               attrs});
  expect_case({OpKind::RmsNorm,
               {f32({2, 2}, {3, 4, 0, 5}), f32({2}, {1, 2})},
               {f32({2, 2}, {3 / std::sqrt(12.5), 8 / std::sqrt(12.5), 0, 10 / std::sqrt(12.5)})},
               LayerNormAttrs{.axis = -1, .epsilon = 0.0f}});
}

// A large mean must not cost the digits of the variance.
TEST(LayerNorm, LargeMean) {
  expect_case({OpKind::LayerNorm,
               {f32({4}, {4096.25, 4096.5, 4096.75, 4097})},
               {f32({4}, {-1.34164079, -0.447213595, 0.447213595, 1.34164079})},
               LayerNormAttrs{.axis = 0, .epsilon = 0.0f}});
}

TEST(LayerNorm, Inference) {
  const Known x = typed(DType::F16, {sym("N"), sym("T"), 8});
  expect_types(OpKind::LayerNorm, {x, typed(DType::F16, {8})}, LayerNormAttrs{.axis = 2},
               {"f16[N,T,8]", "f32[N,T,1]", "f32[N,T,1]"});
  expect_types(OpKind::RmsNorm, {x, typed(DType::F32, {8})}, LayerNormAttrs{.axis = 2},
               {"f32[N,T,8]"});
  expect_infer_error(OpKind::LayerNorm, {x, typed(DType::F16, {7})}, {}, Code::ShapeMismatch,
                     "broadcast");
  expect_infer_error(OpKind::LayerNorm, {x}, LayerNormAttrs{.axis = 3}, Code::BadValue, "axis 3");
}

TEST(LpNorm, BothOrders) {
  const Value x = f32({2, 2}, {3, 4, 0, 0});
  expect_case({OpKind::LpNorm, {x}, {f32({2, 2}, {0.6, 0.8, 0, 0})}, LpNormAttrs{}});
  expect_case({OpKind::LpNorm,
               {f32({2, 2}, {3, 4, -1, 4})},
               {f32({2, 2}, {0.75, 0.5, -0.25, 0.5})},
               LpNormAttrs{.axis = 0, .p = 1}});
  expect_infer_error(OpKind::LpNorm, {typed(DType::F32, {2})}, LpNormAttrs{.p = 3}, Code::BadValue,
                     "p 3");
}

TEST(Lrn, Windows) {
  const Value x = f32({1, 4, 1}, {1, 2, 3, 4});
  const LrnAttrs attrs{.size = 3, .alpha = 3.0f, .beta = 1.0f, .bias = 1.0f};
  const std::vector<double> y = {1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 26};
  expect_case({OpKind::Lrn, {x}, {f32({1, 4, 1}, y)}, attrs});
  LrnAttrs last = attrs;
  last.layout = Layout::ChannelsLast;
  expect_case({OpKind::Lrn, {f32({1, 1, 4}, {1, 2, 3, 4})}, {f32({1, 1, 4}, y)}, last});
  // An even window reaches one further ahead; a huge one sees all channels.
  expect_case({OpKind::Lrn,
               {x},
               {f32({1, 4, 1}, {1.0 / 6, 2.0 / 14, 3.0 / 26, 4.0 / 17})},
               LrnAttrs{.size = 2, .alpha = 2.0f, .beta = 1.0f, .bias = 1.0f}});
  expect_case({OpKind::Lrn,
               {x},
               {f32({1, 4, 1}, {1, 2, 3, 4})},
               LrnAttrs{.size = INT64_MAX, .alpha = 1.0f, .beta = 1.0f, .bias = 1.0f}});
  expect_infer_error(OpKind::Lrn, {typed(DType::F32, {1, 2})}, LrnAttrs{.size = 0}, Code::BadValue,
                     "size 0");
}

}  // namespace
}  // namespace ec::test
