#include "support/rounding.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/small_float.h"

namespace ec {
namespace {

TEST(Rounding, Halves) {
  EXPECT_EQ(round_half_even(0.5f), 0.0f);
  EXPECT_EQ(round_half_even(1.5f), 2.0f);
  EXPECT_EQ(round_half_even(-2.5), -2.0);
  EXPECT_EQ(round_half_even(2.5000001), 3.0);
  EXPECT_EQ(round_half_away(0.5f), 1.0f);
  EXPECT_EQ(round_half_away(-2.5), -3.0);
  EXPECT_EQ(round_half_away(0.49999999999999994), 0.0);
}

// Every 4099th float, all signs and exponents, against the C library.
TEST(Rounding, HalfEvenEverywhere) {
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const float got = round_half_even(x), expected = std::nearbyint(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(got));
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected)) << x;
      ASSERT_EQ(round_half_even(static_cast<double>(x)), std::nearbyint(static_cast<double>(x)));
    }
  }
  for (const double x : {0x1p52, -0x1p52 + 0.5, 0x1.8p51 + 0.5, 4503599627370495.5, -0.5})
    EXPECT_EQ(round_half_even(x), std::nearbyint(x)) << x;
  EXPECT_TRUE(std::signbit(round_half_even(-0.25)));
}

TEST(Rounding, HalfAwayEverywhere) {
  const auto expect_same = [](float x) {
    const float got = round_half_away(x), expected = std::round(x);
    if (std::isnan(x))
      ASSERT_TRUE(std::isnan(got));
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected)) << x;
  };
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099)
    expect_same(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const float x : {0.49999997f, 0.5f, 0.50000006f, 2.4999998f, 127.5f, 8388607.5f, 8388609.0f})
    expect_same(x), expect_same(-x);
}

TEST(Rounding, NarrowToOddKeepsTiesApart) {
  const double tie = 1.0 + 0x1p-11;  // halfway between two halves
  EXPECT_EQ(float_to_half(narrow_to_odd(tie)), 0x3c00);
  EXPECT_EQ(float_to_half(narrow_to_odd(tie + 0x1p-45)), 0x3c01);
  EXPECT_EQ(float_to_half(narrow_to_odd(tie - 0x1p-45)), 0x3c00);
  const double odd_tie = 1.0 + 3 * 0x1p-11;
  EXPECT_EQ(float_to_half(narrow_to_odd(odd_tie - 0x1p-45)), 0x3c01);
  EXPECT_EQ(float_to_half(narrow_to_odd(odd_tie)), 0x3c02);
  EXPECT_EQ(narrow_to_odd(0.3), std::nextafter(0.3f, 0.0f));
  EXPECT_EQ(narrow_to_odd(0.1), 0.1f);  // already odd
  EXPECT_EQ(narrow_to_odd(1.5), 1.5f);
}

TEST(Wrapping, Limits) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(wrapping_add(kMax, int64_t{1}), kMin);
  EXPECT_EQ(wrapping_sub(kMin, int64_t{1}), kMax);
  EXPECT_EQ(wrapping_mul(kMax, int64_t{2}), -2);
  EXPECT_EQ(wrapping_neg(kMin), kMin);
  EXPECT_EQ(divide_truncated(kMin, int64_t{-1}), kMin);
  EXPECT_EQ(remainder_truncated(kMin, int64_t{-1}), 0);
}

TEST(Division, Signs) {
  EXPECT_EQ(divide_truncated<int64_t>(-7, 2), -3);
  EXPECT_EQ(remainder_truncated<int64_t>(-7, 2), -1);
  EXPECT_EQ(remainder_floored<int64_t>(-7, 2), 1);
  EXPECT_EQ(remainder_floored<int64_t>(7, -2), -1);
  EXPECT_EQ(remainder_floored<int64_t>(6, -2), 0);
  EXPECT_EQ(remainder_floored<uint64_t>(7, 4), 3u);
}

TEST(Division, FloatRemainder) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(float_remainder_floored(-7.5, 2.0), 0.5);
  EXPECT_EQ(float_remainder_floored(7.5, -2.0), -0.5);
  EXPECT_TRUE(std::signbit(float_remainder_floored(4.0, -2.0)));
  EXPECT_EQ(float_remainder_floored(-1.0, kInf), kInf);
  EXPECT_EQ(float_remainder_floored(1.0, kInf), 1.0);
  EXPECT_TRUE(std::isnan(float_remainder_floored(1.0, 0.0)));
}

}  // namespace
}  // namespace ec
