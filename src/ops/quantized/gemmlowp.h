// Fixed point functions on 32-bit fractions, as gemmlowp defines them: a raw number with i integer
// bits stands for raw / 2^(31 - i).
#pragma once

#include <cstdint>

#include "ops/quantized/fixed_point.h"

namespace ec::quantized {

// x * 2^exponent: rounded for negative exponents, saturated for positive ones.
int32_t multiply_by_power_of_two(int32_t x, int exponent);
// (a + b) / 2, ties away from zero.
int32_t half_sum(int32_t a, int32_t b);

// exp(a) for a <= 0 with the given integer bits; the result has none.
int32_t exp_of_negative(int32_t a, int integer_bits);
// 1 / (1 + a) for a in [0, 1), both without integer bits.
int32_t one_over_one_plus(int32_t a);
// 1 / x for a positive x with `integer_digits` integer bits: the result times 2^-bits_over_unit.
struct Reciprocal {
  int32_t value;
  int bits_over_unit;
};
Reciprocal reciprocal(int32_t x, int integer_digits);
// log(x) for x >= 1 with 12 integer bits; the result has 5.
int32_t log_of_at_least_one(int32_t x);
// 1 / sqrt(x) of an integer as a factor and a left shift.
Multiplier inverse_sqrt(int32_t x);

int leading_zeros(uint32_t x);

// The same on 16 bits, as recurrent cells use them: x with the given integer bits (at most 6), the
// result with none.
int16_t logistic16(int16_t x, int integer_bits);
int16_t tanh16(int16_t x, int integer_bits);

}  // namespace ec::quantized
