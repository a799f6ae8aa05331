#include "support/small_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/halves.h"

namespace ec {
namespace {

TEST(SmallFloat, EveryHalfReadsBackEqual) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_half(value), bits);
  }
}

TEST(SmallFloat, HalfRoundsTiesToEven) {
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);      // tie, down to even
  EXPECT_EQ(float_to_half(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie, up to even
  EXPECT_EQ(float_to_half(1.0f + 0x1.002p-11f), 0x3c01);  // just above the tie
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);             // last that rounds to the maximum
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);             // tie, up to infinity
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);             // tie between 0 and the least subnormal
  EXPECT_EQ(float_to_half(0x1.8p-25f), 0x0001);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(NAN))));
}

// Bits of all kinds: subnormal, huge, infinite, NaN; in lengths that leave rests.
TEST(SmallFloat, ManyHalvesAtOnceHaveTheBitsOfEach) {
  std::vector<uint16_t> halves(65536 + 5);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i * 40503u);
  std::vector<float> floats(halves.size());
  halves_to_floats(halves, floats.data());
  for (size_t i = 0; i < halves.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]),
              std::bit_cast<uint32_t>(half_to_float(halves[i])));
  uint32_t bits = 1;
  for (float& value : floats) value = std::bit_cast<float>(bits = bits * 1664525u + 1013904223u);
  for (size_t i = 0; i < floats.size(); i += 3)  // where halves have digits
    floats[i] = std::ldexp(1.0f + static_cast<float>(i) * 0x1p-17f, static_cast<int>(i % 48) - 28);
  floats_to_halves(floats, halves.data());
  std::vector<float> rounded = floats;
  round_to_halves(rounded);
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i], float_to_half(floats[i])) << floats[i];
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]),
              std::bit_cast<uint32_t>(half_to_float(halves[i])));
  }
}

TEST(SmallFloat, BFloat16RoundsTiesToEven) {
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3f80);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(SmallFloat, EveryByteOfEveryFormatReadsBackEqual) {
  for (const SmallFloatFormat& format : {kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ}) {
    for (unsigned bits = 0; bits < 256; ++bits) {
      const float value = small_to_float(static_cast<uint8_t>(bits), format);
      if (std::isnan(value)) continue;
      EXPECT_EQ(float_to_small(value, format, false), bits) << value;
    }
  }
  for (unsigned bits = 0; bits < 16; ++bits)
    EXPECT_EQ(float_to_small(small_to_float(static_cast<uint8_t>(bits), kF4E2M1), kF4E2M1, true),
              bits);
}

TEST(SmallFloat, LimitsAreThoseOfTheFormats) {
  EXPECT_EQ(small_to_float(0x7e, kF8E4M3FN), 448.0f);
  EXPECT_EQ(small_to_float(0x7f, kF8E4M3FNUZ), 240.0f);
  EXPECT_EQ(small_to_float(0x7b, kF8E5M2), 57344.0f);
  EXPECT_EQ(small_to_float(0x7f, kF8E5M2FNUZ), 57344.0f);
  EXPECT_EQ(small_to_float(0x07, kF4E2M1), 6.0f);
  EXPECT_TRUE(std::isnan(small_to_float(0x7f, kF8E4M3FN)));
  EXPECT_TRUE(std::isnan(small_to_float(0x80, kF8E4M3FNUZ)));
  EXPECT_TRUE(std::isinf(small_to_float(0x7c, kF8E5M2)));
}

TEST(SmallFloat, OutOfRangeSaturatesOrNot) {
  EXPECT_EQ(float_to_small(1e6f, kF8E4M3FN, true), 0x7e);
  EXPECT_EQ(float_to_small(1e6f, kF8E4M3FN, false), 0x7f);
  EXPECT_EQ(float_to_small(-1e6f, kF8E5M2, true), 0xfb);
  EXPECT_EQ(float_to_small(-1e6f, kF8E5M2, false), 0xfc);
  EXPECT_EQ(float_to_small(INFINITY, kF8E5M2FNUZ, false), 0x80);
  EXPECT_EQ(float_to_small(INFINITY, kF4E2M1, false), 0x7);
  EXPECT_EQ(float_to_small(NAN, kF4E2M1, true), 0x8);
}

TEST(SmallFloat, PowerOfTwoScale) {
  EXPECT_EQ(float_to_e8m0(1.0f), 127);
  EXPECT_EQ(float_to_e8m0(2.0f), 128);
  EXPECT_EQ(e8m0_to_float(126), 0.5f);
  EXPECT_TRUE(std::isnan(e8m0_to_float(float_to_e8m0(NAN))));
}

}  // namespace
}  // namespace ec
