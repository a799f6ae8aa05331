#include "support/small_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ec {

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {
    // Subnormal half: let the float adder round at the right bit (0.5f has the half's ulp there).
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t rounded = magnitude + 0xfffu + odd - (112u << 23);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

namespace {

using Special = SmallFloatFormat::Special;

struct SmallLimits {
  unsigned sign_bit;        // position value of the sign
  unsigned largest_finite;  // bits of the largest finite magnitude
};

SmallLimits limits_of(const SmallFloatFormat& f) {
  const unsigned sign_bit = 1u << (f.exponent_bits + f.mantissa_bits);
  const unsigned all_ones = sign_bit - 1;
  switch (f.special) {
    case Special::Ieee:
      return {sign_bit, all_ones - (1u << f.mantissa_bits)};
    case Special::NanOnly:
      return {sign_bit, all_ones - 1};
    case Special::NegZeroNan:
    case Special::None:
      return {sign_bit, all_ones};
  }
  return {sign_bit, all_ones};
}

unsigned nan_bits(const SmallFloatFormat& f, unsigned sign_bit) {
  switch (f.special) {
    case Special::Ieee:
      return (sign_bit - 1) - (1u << f.mantissa_bits) + 1 + (1u << (f.mantissa_bits - 1));
    case Special::NanOnly:
      return sign_bit - 1;
    case Special::NegZeroNan:
    case Special::None:  // has no NaN: negative zero stands for it, as in ONNX
      return sign_bit;
  }
  return 0;
}

}  // namespace

float small_to_float(uint8_t bits, const SmallFloatFormat& f) {
  const SmallLimits limits = limits_of(f);
  const unsigned magnitude = bits & (limits.sign_bit - 1);
  const bool negative = (bits & limits.sign_bit) != 0;
  if (f.special == Special::NegZeroNan && negative && magnitude == 0)
    return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > limits.largest_finite) {
    const bool infinity = f.special == Special::Ieee && magnitude == limits.largest_finite + 1;
    if (!infinity) return std::numeric_limits<float>::quiet_NaN();
    return negative ? -std::numeric_limits<float>::infinity()
                    : std::numeric_limits<float>::infinity();
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const int mantissa = static_cast<int>(magnitude & ((1u << f.mantissa_bits) - 1));
  const float value = exponent == 0
                          ? std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits)
                          : std::ldexp(static_cast<float>(mantissa + (1 << f.mantissa_bits)),
                                       exponent - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

uint8_t float_to_small(float value, const SmallFloatFormat& f, bool saturate) {
  const SmallLimits limits = limits_of(f);
  const unsigned sign = std::signbit(value) ? limits.sign_bit : 0u;
  if (std::isnan(value)) {
    const unsigned nan = nan_bits(f, limits.sign_bit);
    return static_cast<uint8_t>(f.special == Special::NegZeroNan ? nan : nan | sign);
  }
  const float magnitude = std::fabs(value);
  unsigned bits = limits.largest_finite + 1;
  if (std::isfinite(magnitude)) {
    // Quantise to the format's grid at this exponent; nearbyint rounds ties to even.
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int step = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;
    const float units = std::nearbyint(std::ldexp(magnitude, -step));
    const auto mantissa = static_cast<unsigned>(units);  // at most 2^(mantissa_bits + 1)
    const int biased = step + f.mantissa_bits + f.bias;  // >= 1
    const unsigned hidden = 1u << f.mantissa_bits;
    bits = mantissa < hidden
               ? mantissa
               : (static_cast<unsigned>(biased) << f.mantissa_bits) + (mantissa - hidden);
  }
  if (bits > limits.largest_finite) {
    if (saturate || f.special == Special::None) {
      bits = limits.largest_finite;
    } else if (f.special == Special::Ieee) {
      bits = limits.largest_finite + 1;  // infinity
    } else {
      const unsigned nan = nan_bits(f, limits.sign_bit);
      return static_cast<uint8_t>(f.special == Special::NegZeroNan ? nan : nan | sign);
    }
  }
  if (bits == 0 && f.special == Special::NegZeroNan) return 0;
  return static_cast<uint8_t>(bits | sign);
}

uint8_t float_to_e8m0(float value) {
  if (std::isnan(value)) return 255;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return 254;
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  if (magnitude == 0) return 0;
  const int power = exponent - 1 + (fraction >= 0.75f ? 1 : 0);
  return static_cast<uint8_t>(std::clamp(power + 127, 0, 254));
}

float e8m0_to_float(uint8_t bits) {
  if (bits == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, static_cast<int>(bits) - 127);
}

}  // namespace ec
