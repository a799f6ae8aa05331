#include "ops/fourier.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace ec {
namespace {

// Above this a prime factor costs more than the convolution.
constexpr size_t kMaxFactor = 31;

Complex root_of_unity(size_t k, size_t n, bool inverse) {
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return std::polar(1.0, inverse ? angle : -angle);
}

// Prime factors in order; empty when one is too large.
std::vector<size_t> small_factors(size_t n) {
  std::vector<size_t> factors;
  for (size_t p = 2; p <= kMaxFactor && n > 1; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.clear();
  return factors;
}

// Digits of k in the mixed radix, read in reverse.
size_t first_stage_source(size_t k, size_t length, std::span<const size_t> factors) {
  size_t source = 0, stride = 1, size = length;
  for (const size_t factor : factors) {
    size /= factor;
    source += k / size * stride;
    k %= size;
    stride *= factor;
  }
  return source;
}

}  // namespace

FourierTransform::FourierTransform(size_t length, bool inverse)
    : length_(length), inverse_(inverse), factors_(small_factors(length)) {
  if (length < 2) return;
  if (!factors_.empty()) {
    roots_.resize(length);
    order_.resize(length);
    for (size_t k = 0; k < length; ++k) {
      roots_[k] = root_of_unity(k, length, inverse);
      order_[k] = first_stage_source(k, length, factors_);
    }
    return;
  }
  chirp_.resize(length);
  for (size_t k = 0; k < length; ++k) {
    // k^2 modulo 2 length keeps the angle exact for long signals.
    const auto square = static_cast<size_t>(static_cast<uint64_t>(k) * k % (2 * length));
    chirp_[k] = root_of_unity(square, 2 * length, inverse);
  }
  size_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  padded_ = std::make_unique<FourierTransform>(padded, false);
  padded_inverse_ = std::make_unique<FourierTransform>(padded, true);
  chirp_spectrum_.assign(padded, Complex());
  for (size_t k = 0; k < length; ++k) {
    chirp_spectrum_[k] = std::conj(chirp_[k]);
    if (k > 0) chirp_spectrum_[padded - k] = std::conj(chirp_[k]);
  }
  padded_->run(chirp_spectrum_);
}

void FourierTransform::run(std::span<Complex> values) const {
  if (length_ < 2) return;
  if (factors_.empty())
    run_bluestein(values);
  else
    run_radix(values);
  if (!inverse_) return;
  for (Complex& value : values) value /= static_cast<double>(length_);
}

// Decimation in time: transforms of growing blocks, from the last factor to the first.
void FourierTransform::run_radix(std::span<Complex> values) const {
  std::vector<Complex> buffer(length_);
  for (size_t i = 0; i < length_; ++i) buffer[i] = values[order_[i]];
  size_t block = 1;
  Complex part[kMaxFactor];
  for (size_t f = factors_.size(); f-- > 0;) {
    const size_t radix = factors_[f], size = block * radix, step = length_ / size;
    for (size_t start = 0; start < length_; start += size)
      for (size_t k = 0; k < block; ++k) {
        for (size_t r = 0; r < radix; ++r)
          part[r] = buffer[start + r * block + k] * roots_[r * k * step];
        for (size_t q = 0; q < radix; ++q) {
          Complex sum = part[0];
          for (size_t r = 1; r < radix; ++r)
            sum += part[r] * roots_[r * q % radix * (length_ / radix)];
          buffer[start + q * block + k] = sum;
        }
      }
    block = size;
  }
  std::copy(buffer.begin(), buffer.end(), values.begin());
}

void FourierTransform::run_bluestein(std::span<Complex> values) const {
  std::vector<Complex> buffer(chirp_spectrum_.size());
  for (size_t k = 0; k < length_; ++k) buffer[k] = values[k] * chirp_[k];
  padded_->run(buffer);
  for (size_t k = 0; k < buffer.size(); ++k) buffer[k] *= chirp_spectrum_[k];
  padded_inverse_->run(buffer);
  for (size_t k = 0; k < length_; ++k) values[k] = buffer[k] * chirp_[k];
}

}  // namespace ec
