// Rounding and wrapping rules, each under one name. Kernels use these and nothing hand-written, so
// that a rule is stated and tested once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ec {

// Nearest integer, ties to even: ONNX Round and QuantizeLinear, numpy.rint. Adding 2^23 (2^52)
// leaves no bits for a fraction, so the addition itself rounds; the floating-point environment
// keeps its default mode throughout. Inline arithmetic where std::nearbyint would be a call.
inline float round_half_even(float value) {
  const float magnitude = std::fabs(value);
  if (!(magnitude < 0x1p23f)) return value;  // integers, infinities and NaN
  return std::copysign((magnitude + 0x1p23f) - 0x1p23f, value);
}
inline double round_half_even(double value) {
  const double magnitude = std::fabs(value);
  if (!(magnitude < 0x1p52)) return value;
  return std::copysign((magnitude + 0x1p52) - 0x1p52, value);
}
// Nearest integer, ties away from zero: C's round, TFLite's quantised arithmetic. What is left of a
// float beyond its whole part is exact, so that it tells which of the two neighbours is nearer.
inline float round_half_away(float value) {
  const float magnitude = std::fabs(value);
  if (!(magnitude < 0x1p23f)) return value;
  const auto whole = static_cast<float>(static_cast<int32_t>(magnitude));
  return std::copysign(magnitude - whole >= 0.5f ? whole + 1.0f : whole, value);
}
inline double round_half_away(double value) { return std::round(value); }

// Narrows a double so that a second rounding to a still smaller format gives what one rounding of
// the double would: the last bit of an inexact result is made odd (round to odd).
inline float narrow_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || !std::isfinite(nearest)) return nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1u) return nearest;
  // Even and inexact: the odd neighbour on the value's side.
  const bool away = (std::fabs(back) < std::fabs(value));
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

// Two's complement arithmetic without the undefined overflow of signed types. T: int64_t, uint64_t.
template <class T>
T wrapping_add(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <class T>
T wrapping_sub(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
template <class T>
T wrapping_mul(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
template <class T>
T wrapping_neg(T a) {
  return wrapping_sub<T>(0, a);
}

// Quotient rounded towards zero. Requires b != 0; the one overflowing quotient wraps.
template <class T>
T divide_truncated(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return wrapping_neg(a);
  return static_cast<T>(a / b);
}
// Remainder with the sign of the dividend (C). Requires b != 0.
template <class T>
T remainder_truncated(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
// Remainder with the sign of the divisor (Python). Requires b != 0.
template <class T>
T remainder_floored(T a, T b) {
  const T r = remainder_truncated(a, b);
  if constexpr (std::is_signed_v<T>)
    if (r != 0 && (r < 0) != (b < 0)) return r + b;
  return r;
}
// The same rounding on floats, with numpy's signed zeros.
template <class T>
T float_remainder_floored(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(T{0}, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace ec
