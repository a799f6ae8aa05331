// Conversions between float and the small storage formats: IEEE half, bfloat16, the 8-bit floats of
// OCP and Graphcore/AMD ("fnuz"), the power-of-two scale format and the 4-bit float. All round to
// nearest, ties to even. These are the only places where such bits are made or read.
#pragma once

#include <cstdint>

namespace ec {

uint16_t float_to_half(float value);
float half_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);
float bfloat16_to_float(uint16_t bits);

// Layout of a small float of at most 8 bits.
struct SmallFloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Special : uint8_t {
    Ieee,        // top exponent holds infinity and NaN (e5m2)
    NanOnly,     // all ones is NaN, no infinity (e4m3fn)
    NegZeroNan,  // the bits of -0 are the one NaN, no infinity (fnuz)
    None         // every bit pattern is a number (e2m1)
  } special;
};

inline constexpr SmallFloatFormat kF8E4M3FN{4, 3, 7, SmallFloatFormat::Special::NanOnly};
inline constexpr SmallFloatFormat kF8E4M3FNUZ{4, 3, 8, SmallFloatFormat::Special::NegZeroNan};
inline constexpr SmallFloatFormat kF8E5M2{5, 2, 15, SmallFloatFormat::Special::Ieee};
inline constexpr SmallFloatFormat kF8E5M2FNUZ{5, 2, 16, SmallFloatFormat::Special::NegZeroNan};
inline constexpr SmallFloatFormat kF4E2M1{2, 1, 1, SmallFloatFormat::Special::None};

// Out-of-range values become the largest finite number when saturate, else infinity or NaN.
uint8_t float_to_small(float value, const SmallFloatFormat& format, bool saturate);
float small_to_float(uint8_t bits, const SmallFloatFormat& format);

// e8m0: the byte is a biased power of two, 255 is NaN.
uint8_t float_to_e8m0(float value);
float e8m0_to_float(uint8_t bits);

}  // namespace ec
