// The rounding and saturation rules of TFLite's integer arithmetic. A real factor becomes a 32-bit
// fixed point number and a shift; results are equal to LiteRT's reference kernels bit by bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ec::quantized {

// real = value * 2^(shift - 31), value in [2^30, 2^31) or 0.
struct Multiplier {
  int32_t value = 0;
  int shift = 0;
  bool operator==(const Multiplier&) const = default;
};

Multiplier quantize_multiplier(double real);

// a * 2^exponent with two's complement wrapping.
inline int32_t shift_left(int32_t a, int exponent) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) << exponent);
}

// (a * b * 2 + 2^31) / 2^32 with ties away from zero on the positive side only, saturated.
inline int32_t doubling_high_mul(int32_t a, int32_t b) {
  if (a == b && a == std::numeric_limits<int32_t>::min())
    return std::numeric_limits<int32_t>::max();
  const int64_t product = static_cast<int64_t>(a) * b;
  const int64_t nudge = product >= 0 ? (int64_t{1} << 30) : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

// The same on 16 bits.
inline int16_t doubling_high_mul(int16_t a, int16_t b) {
  if (a == b && a == std::numeric_limits<int16_t>::min())
    return std::numeric_limits<int16_t>::max();
  const int32_t product = static_cast<int32_t>(a) * b;
  const int32_t nudge = product >= 0 ? (1 << 14) : 1 - (1 << 14);
  return static_cast<int16_t>((product + nudge) / (1 << 15));
}

// x / 2^exponent, ties away from zero. Requires 0 <= exponent <= 31.
inline int32_t divide_by_power_of_two(int32_t x, int exponent) {
  const auto mask = static_cast<int32_t>((int64_t{1} << exponent) - 1);
  const int32_t remainder = x & mask;
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

// x times the factor: doubling high product, then the division, each rounded.
inline int32_t multiply(int32_t x, Multiplier m) {
  const int left = std::max(m.shift, 0), right = std::max(-m.shift, 0);
  // A shift beyond the width leaves nothing; TFLite's shift counts the lowest five bits.
  return divide_by_power_of_two(doubling_high_mul(shift_left(x, left & 31), m.value),
                                std::min(right, 31));
}

// The form for 64-bit sums of 16-bit activations: the factor keeps 15 bits, one rounding.
inline int32_t multiply_wide(int64_t x, Multiplier m) {
  const int64_t reduced = m.value < 0x7FFF0000 ? (m.value + (1 << 15)) >> 16 : 0x7FFF;
  const int shift = std::clamp(15 - m.shift, 1, 62);
  const auto product = static_cast<int64_t>(
      static_cast<uint64_t>(x) * static_cast<uint64_t>(reduced) + (uint64_t{1} << (shift - 1)));
  return static_cast<int32_t>(product >> shift);
}

// std::round of a float, ties away from zero, as an integer that cannot overflow.
inline int32_t round_to_int32(double x) {
  const double rounded = std::round(x);
  if (!(rounded > -2147483648.0)) return std::numeric_limits<int32_t>::min();
  if (rounded >= 2147483647.0) return std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(rounded);
}

template <class T>
constexpr T saturate(int64_t x) {
  return static_cast<T>(
      std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace ec::quantized
