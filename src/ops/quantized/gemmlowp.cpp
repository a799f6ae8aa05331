#include "ops/quantized/gemmlowp.h"

#include <bit>

namespace ec::quantized {
namespace {

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

int32_t saturating(int64_t x) { return saturate<int32_t>(x); }
int32_t wrapping(int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }
int32_t sum(int32_t a, int32_t b) { return wrapping(int64_t{a} + b); }

// exp(a) for a in [-1/4, 0): a Taylor series around -1/8.
int32_t exp_near_zero(int32_t a) {
  constexpr int32_t kExpOfMinusEighth = 1895147668, kThird = 715827883;
  const int32_t x = sum(a, 1 << 28);
  const int32_t x2 = doubling_high_mul(x, x), x3 = doubling_high_mul(x2, x);
  const int32_t x4 = doubling_high_mul(x2, x2);
  const int32_t x4_over_4 = multiply_by_power_of_two(x4, -2);
  const int32_t rest =
      multiply_by_power_of_two(sum(doubling_high_mul(sum(x4_over_4, x3), kThird), x2), -1);
  return sum(kExpOfMinusEighth, doubling_high_mul(kExpOfMinusEighth, sum(x, rest)));
}

}  // namespace

int leading_zeros(uint32_t x) { return std::countl_zero(x); }

int32_t multiply_by_power_of_two(int32_t x, int exponent) {
  if (exponent == 0) return x;
  if (exponent < 0) return divide_by_power_of_two(x, std::min(-exponent, 31));
  return saturating(static_cast<int64_t>(x) * (int64_t{1} << std::min(exponent, 32)));
}

int32_t half_sum(int32_t a, int32_t b) {
  const int64_t total = int64_t{a} + b;
  return static_cast<int32_t>((total + (total >= 0 ? 1 : -1)) / 2);
}

int32_t exp_of_negative(int32_t a, int integer_bits) {
  if (a == 0) return kMax;
  const int fraction_bits = 31 - integer_bits;
  const int32_t quarter = 1 << (fraction_bits - 2);
  const int32_t low = (a & (quarter - 1)) - quarter;
  int32_t result = exp_near_zero(multiply_by_power_of_two(low, integer_bits));
  const int32_t rest = wrapping(int64_t{low} - a);
  // exp(-2^e) for each bit of what is left.
  struct Step {
    int exponent;
    int32_t factor;
  };
  constexpr Step kSteps[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308},
                             {2, 39332535},    {3, 720401},      {4, 242}};
  for (const Step& step : kSteps)
    if (integer_bits > step.exponent && (rest & (1 << (fraction_bits + step.exponent))) != 0)
      result = doubling_high_mul(result, step.factor);
  return result;
}

int32_t one_over_one_plus(int32_t a) {
  constexpr int32_t k48Over17 = 1515870810, kMinus32Over17 = -1010580540, kOne = 1 << 29;
  const int32_t half_denominator = half_sum(a, kMax);
  // Newton's method with two integer bits.
  int32_t x = sum(k48Over17, doubling_high_mul(half_denominator, kMinus32Over17));
  for (int i = 0; i < 3; ++i) {
    const int32_t error = wrapping(int64_t{kOne} - doubling_high_mul(half_denominator, x));
    x = sum(x, multiply_by_power_of_two(doubling_high_mul(x, error), 2));
  }
  return multiply_by_power_of_two(x, 1);
}

Reciprocal reciprocal(int32_t x, int integer_digits) {
  const int headroom = leading_zeros(static_cast<uint32_t>(x));
  const uint32_t shifted = headroom >= 32 ? 0u : static_cast<uint32_t>(x) << headroom;
  return {one_over_one_plus(static_cast<int32_t>(shifted - (uint32_t{1} << 31))),
          integer_digits - headroom};
}

int32_t log_of_at_least_one(int32_t x) {
  constexpr int kInputBits = 12, kOutputBits = 5, kSumBits = kOutputBits + 1;
  constexpr int32_t kLog2 = 1488522236, kRootRootHalf = 1805811301, kRootHalf = 1518500250;
  constexpr int32_t kQuarter = 536870912, kAlphaN = 117049297, kAlphaD = 127690142;
  constexpr int32_t kAlphaI = 1057819769, kAlphaF = 638450708;
  const int32_t shifted_quarter = multiply_by_power_of_two(kQuarter, -kSumBits);
  // Two ways to bring x into [sqrt(1/2), 1] times a power of two; the smaller remainder wins.
  const int headroom_a = leading_zeros(static_cast<uint32_t>(x));
  const int32_t scaled = multiply_by_power_of_two(x, headroom_a - 1);
  const int32_t rest_a = multiply_by_power_of_two(doubling_high_mul(scaled, kRootHalf), 1);
  const int32_t power_a = saturating(
      int64_t{multiply_by_power_of_two(kInputBits - headroom_a, 31 - kSumBits)} + shifted_quarter);
  const int32_t z_b = doubling_high_mul(x, kRootHalf);
  const int headroom_b = leading_zeros(static_cast<uint32_t>(z_b)) - 1;
  const int32_t rest_b = multiply_by_power_of_two(x, headroom_b);
  const int32_t power_b = saturating(
      int64_t{multiply_by_power_of_two(kInputBits - headroom_b, 31 - kSumBits)} - shifted_quarter);
  const int32_t r = std::min(rest_a, rest_b), power = std::max(power_a, power_b);
  const int32_t p = half_sum(r, kRootRootHalf);
  const int32_t q = wrapping(2 * (int64_t{r} - kRootRootHalf));
  const int32_t square = doubling_high_mul(q, q);
  const int32_t numerator =
      sum(doubling_high_mul(q, r), doubling_high_mul(doubling_high_mul(q, square), kAlphaN));
  const int32_t inner = sum(sum(kAlphaI, q), doubling_high_mul(kAlphaD, square));
  const int32_t denominator = sum(doubling_high_mul(p, inner), doubling_high_mul(kAlphaF, q));
  const int32_t inverse = one_over_one_plus(denominator);
  const int32_t numerator_scaled = multiply_by_power_of_two(numerator, -kSumBits);
  return multiply_by_power_of_two(
      sum(doubling_high_mul(power, kLog2), doubling_high_mul(numerator_scaled, inverse)), 1);
}

Multiplier inverse_sqrt(int32_t x) {
  if (x <= 1) return {kMax, 0};
  int shift = 11;
  while (x >= (1 << 29)) {
    x /= 4;
    ++shift;
  }
  const int pairs = (leading_zeros(static_cast<uint32_t>(x)) - 1) / 2 - 1;
  shift -= pairs;
  x = shift_left(x, 2 * pairs);
  // Newton's method with three integer bits.
  const int32_t half_input = multiply_by_power_of_two(x >> 1, -1);
  constexpr int32_t kThreeHalves = (1 << 28) + (1 << 27), kHalfRoot2 = 1518500250;
  int32_t y = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    // Products of values with three integer bits each have six and nine of them.
    const int32_t cube = multiply_by_power_of_two(doubling_high_mul(doubling_high_mul(y, y), y), 6);
    const int32_t difference =
        wrapping(int64_t{doubling_high_mul(kThreeHalves, y)} - doubling_high_mul(half_input, cube));
    y = multiply_by_power_of_two(difference, 3);
  }
  y = doubling_high_mul(y, kHalfRoot2);
  if (shift < 0) {
    y = shift_left(y, -shift);
    shift = 0;
  }
  return {y, -shift};
}

namespace {

// 16-bit fractions. Constants are the 32-bit ones, rounded.
constexpr int16_t kMax16 = std::numeric_limits<int16_t>::max();

int16_t narrow(int32_t x) { return static_cast<int16_t>(static_cast<uint16_t>(x)); }
int16_t constant(int32_t value) { return narrow(divide_by_power_of_two(value, 16)); }
int16_t sum16(int16_t a, int16_t b) { return narrow(a + b); }
int16_t negated(int16_t a) { return narrow(-a); }
int16_t scaled(int16_t x, int exponent) {
  if (exponent < 0) return narrow(divide_by_power_of_two(x, -exponent));
  return saturate<int16_t>(int64_t{x} * (int64_t{1} << exponent));
}

int16_t exp_near_zero16(int16_t a) {
  const int16_t start = constant(1895147668), third = constant(715827883);
  const int16_t x = sum16(a, 1 << 12);
  const int16_t x2 = doubling_high_mul(x, x), x3 = doubling_high_mul(x2, x);
  const int16_t x4_over_4 = scaled(doubling_high_mul(x2, x2), -2);
  const int16_t rest = scaled(sum16(doubling_high_mul(sum16(x4_over_4, x3), third), x2), -1);
  return saturate<int16_t>(int64_t{start} + doubling_high_mul(start, sum16(x, rest)));
}

int16_t exp_of_negative16(int16_t a, int integer_bits) {
  if (a == 0) return kMax16;
  if (integer_bits > 5 && a < constant(-(1 << (36 - integer_bits)))) return 0;
  const int fraction_bits = 15 - integer_bits;
  const auto quarter = static_cast<int16_t>(1 << (fraction_bits - 2));
  const int16_t low = narrow((a & (quarter - 1)) - quarter);
  int16_t result = exp_near_zero16(scaled(low, integer_bits));
  const int32_t rest = narrow(low - a);
  const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int e = -2; e <= 4; ++e)
    if (integer_bits > e && (rest & (1 << (fraction_bits + e))) != 0)
      result = doubling_high_mul(result, constant(factors[e + 2]));
  return result;
}

// Newton's method for 2 / (1 + a) with two integer bits.
int16_t twice_inverse16(int16_t a) {
  const auto half_denominator = static_cast<int16_t>((int32_t{a} + kMax16 + 1) / 2);
  constexpr int16_t kOne = 1 << 13;
  int16_t x =
      sum16(constant(1515870810), doubling_high_mul(half_denominator, constant(-1010580540)));
  for (int i = 0; i < 3; ++i) {
    const int16_t error = narrow(kOne - doubling_high_mul(half_denominator, x));
    x = sum16(x, scaled(doubling_high_mul(x, error), 2));
  }
  return x;
}

}  // namespace

int16_t logistic16(int16_t x, int integer_bits) {
  if (x == 0) return 1 << 14;
  const int16_t below = x > 0 ? negated(x) : x;
  const int16_t positive = scaled(twice_inverse16(exp_of_negative16(below, integer_bits)), 1);
  return x > 0 ? positive : narrow(kMax16 - positive);
}

int16_t tanh16(int16_t x, int integer_bits) {
  if (x == 0) return 0;
  const int16_t below = x < 0 ? x : negated(x);
  // (1 - e) / (1 + e) with e = exp(2 x); doubling x is one integer bit more.
  const int16_t inverse = twice_inverse16(exp_of_negative16(below, integer_bits + 1));
  const int16_t result = scaled(narrow(inverse - (1 << 13)), 2);
  return x < 0 ? negated(result) : result;
}

}  // namespace ec::quantized
