#include "ops/fixed_fourier.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace ec {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
constexpr int kFractionBits = 8 * static_cast<int>(sizeof(T)) - 1;

// Sums wrap as the numbers of the type do.
template <class T>
T plus(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <class T>
T minus(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
template <class T>
T negated(T a) {
  return minus(T{0}, a);
}

// A sum of products without its fraction bits, rounded half up. Products of two numbers, of which
// one is above the lowest, leave room for a second one.
template <class T>
T rounded(int64_t products) {
  return static_cast<T>((products + (int64_t{1} << (kFractionBits<T> - 1))) >> kFractionBits<T>);
}
template <class T>
T product(T a, T b) {
  return rounded<T>(int64_t{a} * b);
}

template <class T>
using Number = FixedComplex<T>;

template <class T>
Number<T> operator+(Number<T> a, Number<T> b) {
  return {plus(a.re, b.re), plus(a.im, b.im)};
}
template <class T>
Number<T> operator-(Number<T> a, Number<T> b) {
  return {minus(a.re, b.re), minus(a.im, b.im)};
}
template <class T>
Number<T> operator*(Number<T> a, Number<T> b) {
  return {rounded<T>(int64_t{a.re} * b.re - int64_t{a.im} * b.im),
          rounded<T>(int64_t{a.re} * b.im + int64_t{a.im} * b.re)};
}
// Division as a product with the largest number divided, rounded.
template <class T>
Number<T> divided(Number<T> a, size_t by) {
  const auto factor = static_cast<T>(std::numeric_limits<T>::max() / static_cast<int64_t>(by));
  return {product(a.re, factor), product(a.im, factor)};
}
template <class T>
T half_of(T a) {
  return static_cast<T>(a >> 1);
}
// Half of a sum or difference: sums of 16-bit numbers have room in an int, those of 32 bits wrap.
template <class T>
T half_sum(T a, T b) {
  if constexpr (sizeof(T) == 2) return static_cast<T>((int32_t{a} + b) >> 1);
  return half_of(plus(a, b));
}
template <class T>
T half_difference(T a, T b) {
  if constexpr (sizeof(T) == 2) return static_cast<T>((int32_t{a} - b) >> 1);
  return half_of(minus(a, b));
}

template <class T>
Number<T> root(double phase) {
  constexpr auto kOne = static_cast<double>(std::numeric_limits<T>::max());
  return {static_cast<T>(std::floor(.5 + kOne * std::cos(phase))),
          static_cast<T>(std::floor(.5 + kOne * std::sin(phase)))};
}

}  // namespace

template <class T>
FixedFourier<T>::FixedFourier(size_t length, bool inverse) : inverse_(inverse) {
  for (size_t i = 0; i < length; ++i) {
    const double phase =
        -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
    roots_.push_back(root<T>(inverse ? -phase : phase));
  }
  const double bound = std::floor(std::sqrt(static_cast<double>(length)));
  size_t left = length, radix = 4;
  do {
    while (left % radix != 0) {
      radix = radix == 4 ? 2 : radix == 2 ? 3 : radix + 2;
      if (static_cast<double>(radix) > bound) radix = left;  // what is left is a prime
    }
    left /= radix;
    stages_.push_back({radix, left});
  } while (left > 1);
}

template <class T>
void FixedFourier<T>::run(std::span<const Number> in, std::span<Number> out) const {
  transform(out, in, 0, 1, 0);
}

template <class T>
void FixedFourier<T>::transform(std::span<Number> out, std::span<const Number> in, size_t first,
                                size_t stride, size_t stage) const {
  const auto [radix, size] = stages_[stage];
  for (size_t k = 0; k < radix; ++k) {
    if (size == 1)
      out[k] = in[first + k * stride];
    else
      transform(out.subspan(k * size, size), in, first + k * stride, stride * radix, stage + 1);
  }
  switch (radix) {
    case 2:
      return join2(out, stride, size);
    case 3:
      return join3(out, stride, size);
    case 4:
      return join4(out, stride, size);
    case 5:
      return join5(out, stride, size);
    default:
      return join_any(out, stride, size, radix);
  }
}

template <class T>
void FixedFourier<T>::join2(std::span<Number> out, size_t stride, size_t size) const {
  for (size_t k = 0; k < size; ++k) {
    const Number a = divided(out[k], 2);
    const Number b = divided(out[k + size], 2) * roots_[k * stride];
    out[k + size] = a - b;
    out[k] = a + b;
  }
}

template <class T>
void FixedFourier<T>::join4(std::span<Number> out, size_t stride, size_t size) const {
  for (size_t k = 0; k < size; ++k) {
    const Number a = divided(out[k], 4);
    const Number b = divided(out[k + size], 4) * roots_[k * stride];
    const Number c = divided(out[k + 2 * size], 4) * roots_[2 * k * stride];
    const Number d = divided(out[k + 3 * size], 4) * roots_[3 * k * stride];
    const Number even = a + c, odd = b + d, difference = a - c;
    Number turned = b - d;  // times -i, or i for the way back
    turned =
        inverse_ ? Number{negated(turned.im), turned.re} : Number{turned.im, negated(turned.re)};
    out[k] = even + odd;
    out[k + size] = difference + turned;
    out[k + 2 * size] = even - odd;
    out[k + 3 * size] = difference - turned;
  }
}

template <class T>
void FixedFourier<T>::join3(std::span<Number> out, size_t stride, size_t size) const {
  const T sine = roots_[stride * size].im;
  for (size_t k = 0; k < size; ++k) {
    const Number a = divided(out[k], 3);
    const Number b = divided(out[k + size], 3) * roots_[k * stride];
    const Number c = divided(out[k + 2 * size], 3) * roots_[2 * k * stride];
    const Number sum = b + c, difference = b - c;
    const Number middle{minus(a.re, half_of(sum.re)), minus(a.im, half_of(sum.im))};
    const Number turned{product(difference.re, sine), product(difference.im, sine)};
    out[k] = a + sum;
    out[k + size] = {minus(middle.re, turned.im), plus(middle.im, turned.re)};
    out[k + 2 * size] = {plus(middle.re, turned.im), minus(middle.im, turned.re)};
  }
}

template <class T>
void FixedFourier<T>::join5(std::span<Number> out, size_t stride, size_t size) const {
  const Number ya = roots_[stride * size], yb = roots_[2 * stride * size];
  // a + x cos + y cos, with one rounding for each product.
  const auto mixed = [](Number a, Number x, T cx, Number y, T cy) {
    return Number{plus(plus(a.re, product(x.re, cx)), product(y.re, cy)),
                  plus(plus(a.im, product(x.im, cx)), product(y.im, cy))};
  };
  for (size_t k = 0; k < size; ++k) {
    Number v[5];
    v[0] = divided(out[k], 5);
    for (size_t j = 1; j < 5; ++j) v[j] = divided(out[k + j * size], 5) * roots_[j * k * stride];
    const Number outer = v[1] + v[4], inner = v[2] + v[3];
    const Number outer_turn = v[1] - v[4], inner_turn = v[2] - v[3];
    out[k] = v[0] + (outer + inner);
    const Number first = mixed(v[0], outer, ya.re, inner, yb.re);
    const Number first_turn{
        plus(product(outer_turn.im, ya.im), product(inner_turn.im, yb.im)),
        minus(negated(product(outer_turn.re, ya.im)), product(inner_turn.re, yb.im))};
    out[k + size] = first - first_turn;
    out[k + 4 * size] = first + first_turn;
    const Number second = mixed(v[0], outer, yb.re, inner, ya.re);
    const Number second_turn{minus(product(inner_turn.im, ya.im), product(outer_turn.im, yb.im)),
                             minus(product(outer_turn.re, yb.im), product(inner_turn.re, ya.im))};
    out[k + 2 * size] = second + second_turn;
    out[k + 3 * size] = second - second_turn;
  }
}

template <class T>
void FixedFourier<T>::join_any(std::span<Number> out, size_t stride, size_t size,
                               size_t radix) const {
  std::vector<Number> parts(radix);
  for (size_t k = 0; k < size; ++k) {
    for (size_t j = 0; j < radix; ++j) parts[j] = divided(out[k + j * size], radix);
    for (size_t j = 0; j < radix; ++j) {
      const size_t at = k + j * size;
      Number sum = parts[0];
      for (size_t q = 1; q < radix; ++q)
        sum = sum + parts[q] * roots_[q * stride * at % roots_.size()];
      out[at] = sum;
    }
  }
}

template <class T>
FixedRealFourier<T>::FixedRealFourier(size_t length, bool inverse)
    : half_(length / 2, inverse), size_(length / 2) {
  for (size_t i = 0; i < size_ / 2; ++i) {
    const double turn = static_cast<double>(i + 1) / static_cast<double>(size_) + .5;
    const double phase = -std::numbers::pi * turn;
    roots_.push_back(root<T>(inverse ? -phase : phase));
  }
}

template <class T>
void FixedRealFourier<T>::forward(std::span<const T> in, std::span<FixedComplex<T>> out) const {
  using Number = FixedComplex<T>;
  std::vector<Number> pairs(size_), mixed(size_);
  for (size_t i = 0; i < size_; ++i) pairs[i] = {in[2 * i], in[2 * i + 1]};
  half_.run(pairs, mixed);
  const Number constant = divided(mixed[0], 2);
  out[0] = {plus(constant.re, constant.im), 0};
  out[size_] = {minus(constant.re, constant.im), 0};
  for (size_t k = 1; k <= size_ / 2; ++k) {
    const Number a = divided(mixed[k], 2);
    const Number b = divided(Number{mixed[size_ - k].re, negated(mixed[size_ - k].im)}, 2);
    const Number sum = a + b, turned = (a - b) * roots_[k - 1];
    out[k] = {half_sum(sum.re, turned.re), half_sum(sum.im, turned.im)};
    out[size_ - k] = {half_difference(sum.re, turned.re), half_difference(turned.im, sum.im)};
  }
}

template <class T>
void FixedRealFourier<T>::backward(std::span<const FixedComplex<T>> in, std::span<T> out) const {
  using Number = FixedComplex<T>;
  std::vector<Number> mixed(size_), pairs(size_);
  mixed[0] = divided(Number{plus(in[0].re, in[size_].re), minus(in[0].re, in[size_].re)}, 2);
  for (size_t k = 1; k <= size_ / 2; ++k) {
    const Number a = divided(in[k], 2);
    const Number b = divided(Number{in[size_ - k].re, negated(in[size_ - k].im)}, 2);
    const Number sum = a + b, turned = (a - b) * roots_[k - 1];
    mixed[k] = sum + turned;
    const Number other = sum - turned;
    mixed[size_ - k] = {other.re, negated(other.im)};
  }
  half_.run(mixed, pairs);
  for (size_t i = 0; i < size_; ++i) {
    out[2 * i] = pairs[i].re;
    out[2 * i + 1] = pairs[i].im;
  }
}

template class FixedFourier<int16_t>;
template class FixedFourier<int32_t>;
template class FixedRealFourier<int16_t>;
template class FixedRealFourier<int32_t>;

}  // namespace ec
