#include "quantize/ranges/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ec::quantize {
namespace {

TEST(Parameters, AffineRangeHoldsZeroExactly) {
  const QuantParams relu6 = params_of_range({0.0f, 6.0f}, DType::I8, false);
  EXPECT_FLOAT_EQ(relu6.scales[0], 6.0f / 255);
  EXPECT_EQ(relu6.zero_points[0], -128);
  const QuantParams both = params_of_range({-1.0f, 1.0f}, DType::I8, false);
  EXPECT_FLOAT_EQ(both.scales[0], 2.0f / 255);
  EXPECT_TRUE(both.zero_points[0] == -1 || both.zero_points[0] == 0);
  // Ranges away from zero are widened to it.
  EXPECT_EQ(params_of_range({2.0f, 4.0f}, DType::I8, false).zero_points[0], -128);
  EXPECT_EQ(params_of_range({-4.0f, -2.0f}, DType::I8, false).zero_points[0], 127);
}

TEST(Parameters, DegenerateRangesStillHaveAScale) {
  for (const Range range :
       {Range{0, 0}, Range{0, 1e-30f}, Range{-1e-38f, 0}, Range{-3e38f, 3e38f}}) {
    const QuantParams params = params_of_range(range, DType::I8, false);
    EXPECT_GT(params.scales[0], 0.0f);
    EXPECT_TRUE(std::isfinite(params.scales[0]));
  }
}

TEST(Parameters, SymmetricHasNoZeroPoint) {
  const QuantParams params = params_of_range({-1.0f, 3.0f}, DType::I16, true);
  EXPECT_FLOAT_EQ(params.scales[0], 3.0f / 32767);
  EXPECT_EQ(params.zero_points[0], 0);
}

TEST(Parameters, WeightsPerChannelAndPerTensor) {
  const float weights[] = {1, -2, 0, 0, 0.5f, 0.25f};
  const int64_t shape[] = {3, 2};
  const QuantParams rows = params_of_weights(weights, shape, 0);
  ASSERT_EQ(rows.scales.size(), 3u);
  EXPECT_FLOAT_EQ(rows.scales[0], 2.0f / 127);
  EXPECT_FLOAT_EQ(rows.scales[1], 2.0f / 127);  // zeros take the widest
  EXPECT_FLOAT_EQ(rows.scales[2], 0.5f / 127);
  const QuantParams columns = params_of_weights(weights, shape, 1);
  EXPECT_FLOAT_EQ(columns.scales[0], 1.0f / 127);
  EXPECT_FLOAT_EQ(columns.scales[1], 2.0f / 127);
  EXPECT_EQ(params_of_weights(weights, shape, -1).scales.size(), 1u);
  const std::vector<int8_t> stored = quantize_values<int8_t>(weights, shape, rows, 127);
  EXPECT_EQ(stored, (std::vector<int8_t>{64, -127, 0, 0, 127, 64}));
}

TEST(Parameters, ValuesSaturate) {
  const float values[] = {10, -10, 0.5f, -0.5f};
  const int64_t shape[] = {4};
  const QuantParams params{{1.0f / 127}, {0}, -1};
  EXPECT_EQ(quantize_values<int8_t>(values, shape, params, 127)[1], -127);
  EXPECT_EQ(quantize_values<int8_t>(values, shape, params)[1], -128);
  const QuantParams half{{1.0f}, {0}, -1};  // ties away from zero
  EXPECT_EQ(quantize_values<int8_t>(values, shape, half)[2], 1);
  EXPECT_EQ(quantize_values<int8_t>(values, shape, half)[3], -1);
}

TEST(Parameters, ScalesWidenForALargeBias) {
  QuantParams weights{{1e-6f, 1e-2f}, {0, 0}, 0};
  const float bias[] = {1000.0f, 1.0f};
  const float input[] = {0.01f};
  EXPECT_TRUE(fit_bias(weights, input, bias, Width::Narrow));
  EXPECT_GT(weights.scales[0], 1e-6f);
  EXPECT_EQ(weights.scales[1], 1e-2f);
  const QuantParams params = params_of_bias(weights, input);
  const int64_t shape[] = {2};
  const auto stored = quantize_values<int32_t>(bias, shape, params);
  EXPECT_LT(std::abs(stored[0]), std::numeric_limits<int32_t>::max() / 2 + 2);
  EXPECT_NEAR(static_cast<double>(stored[0]) * static_cast<double>(params.scales[0]), 1000.0, 0.01);
  EXPECT_FALSE(fit_bias(weights, input, bias, Width::Narrow));
}

void watch(Observer& observer, std::span<const float> values) {
  bool finite = true;
  observer.observe(values, range_of(values, finite));
}

TEST(Observer, MinMaxAndAverage) {
  const float a[] = {1, 2, 3}, b[] = {-1, 100, 0, 0, 0, 0, 0, 0, 0, 5};
  for (const std::string_view name : {"minmax", "average", "auto"}) {
    const ObserverMethod& method = *find_observer_method(name);
    const auto observer = method.make({});
    EXPECT_EQ(observer->range(), (Range{0, 0}));
    watch(*observer, a);
    EXPECT_EQ(observer->range(), (Range{1, 3}));
    watch(*observer, b);
    const bool average = method.name == "average";
    EXPECT_EQ(observer->range(), average ? (Range{0, 51.5f}) : (Range{-1, 100})) << method.name;
  }
  EXPECT_EQ(find_observer_method("nothing"), nullptr);
}

TEST(Observer, FindsValuesThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()})
    for (const size_t at : {size_t{0}, size_t{7}, size_t{16}}) {
      std::vector<float> values(17, 1.0f);
      bool finite = true;
      range_of(values, finite);
      EXPECT_TRUE(finite);
      values[at] = bad;
      range_of(values, finite);
      EXPECT_FALSE(finite) << bad << " at " << at;
    }
}

}  // namespace
}  // namespace ec::quantize
