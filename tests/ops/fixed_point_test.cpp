// The named rounding rules of integer arithmetic, at their corners.
#include <gtest/gtest.h>

#include "ops/quantized/fixed_point.h"

namespace ec::quantized {
namespace {

constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

TEST(FixedPoint, QuantizeMultiplier) {
  EXPECT_EQ(quantize_multiplier(0.0), (Multiplier{0, 0}));
  EXPECT_EQ(quantize_multiplier(1.0), (Multiplier{1 << 30, 1}));
  EXPECT_EQ(quantize_multiplier(0.75), (Multiplier{3 << 29, 0}));
  EXPECT_EQ(quantize_multiplier(6.0), (Multiplier{3 << 29, 3}));
  // Rounds up to the next power of two.
  EXPECT_EQ(quantize_multiplier(1.0 - 1e-12), (Multiplier{1 << 30, 1}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, -40)), (Multiplier{0, 0}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, -32)), (Multiplier{1 << 30, -31}));
}

TEST(FixedPoint, DoublingHighMul) {
  EXPECT_EQ(doubling_high_mul(kMin, kMin), kMax);
  EXPECT_EQ(doubling_high_mul(kMin, kMax), -kMax);
  EXPECT_EQ(doubling_high_mul(int32_t{1} << 30, 3), 2);    // 1.5 goes up
  EXPECT_EQ(doubling_high_mul(int32_t{1} << 30, -3), -1);  // -1.5 goes towards zero
  EXPECT_EQ(doubling_high_mul(int32_t{1} << 30, -5), -2);
  EXPECT_EQ(doubling_high_mul(int16_t{-32768}, int16_t{-32768}), 32767);
  EXPECT_EQ(doubling_high_mul(int16_t{16384}, int16_t{3}), 2);
  EXPECT_EQ(doubling_high_mul(int16_t{16384}, int16_t{-3}), -1);
}

TEST(FixedPoint, DivideByPowerOfTwo) {
  EXPECT_EQ(divide_by_power_of_two(5, 1), 3);
  EXPECT_EQ(divide_by_power_of_two(-5, 1), -3);  // away from zero
  EXPECT_EQ(divide_by_power_of_two(-4, 3), -1);
  EXPECT_EQ(divide_by_power_of_two(-3, 3), 0);
  EXPECT_EQ(divide_by_power_of_two(kMax, 31), 1);
  EXPECT_EQ(divide_by_power_of_two(kMin, 31), -1);
  EXPECT_EQ(divide_by_power_of_two(7, 0), 7);
}

// Two roundings: 0.499... becomes 0.5 in the first step and 1 in the second.
TEST(FixedPoint, MultiplyRoundsTwice) {
  const Multiplier half{1 << 30, 0};
  EXPECT_EQ(multiply(1, half), 1);
  EXPECT_EQ(multiply(-1, half), 0);
  EXPECT_EQ(multiply(3, Multiplier{1 << 30, -1}), 1);  // 0.75
  EXPECT_EQ(multiply(-3, Multiplier{1 << 30, -1}), -1);
  EXPECT_EQ(multiply(1, Multiplier{1 << 30, -1}), 1);  // 0.25: up to 1, then 0.5 up to 1
  EXPECT_EQ(multiply(5, Multiplier{1 << 30, 3}), 20);
}

TEST(FixedPoint, MultiplyWideRoundsOnce) {
  EXPECT_EQ(multiply_wide(1, Multiplier{1 << 30, 0}), 1);   // 0.5 goes up
  EXPECT_EQ(multiply_wide(-1, Multiplier{1 << 30, 0}), 0);  // -0.5 goes up
  EXPECT_EQ(multiply_wide(1, Multiplier{1 << 30, -1}), 0);  // 0.25
  EXPECT_EQ(multiply_wide(int64_t{1} << 40, Multiplier{1 << 30, -20}), 1 << 19);
  EXPECT_EQ(multiply_wide(32768, Multiplier{kMax, 0}), 32767);  // the factor keeps 15 bits
}

TEST(FixedPoint, RoundToInt32) {
  EXPECT_EQ(round_to_int32(2.5), 3);
  EXPECT_EQ(round_to_int32(-2.5), -3);
  EXPECT_EQ(round_to_int32(1e20), kMax);
  EXPECT_EQ(round_to_int32(-1e20), kMin);
  EXPECT_EQ(round_to_int32(std::nan("")), kMin);
}

}  // namespace
}  // namespace ec::quantized
