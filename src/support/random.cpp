#include "support/random.h"

#include <cmath>

namespace ec {

RandomState::RandomState(uint64_t seed) {
  state_[0] = static_cast<uint32_t>(seed ^ (seed >> 32));
  for (uint32_t i = 1; i < kSize; ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
}

void RandomState::refill() {
  constexpr size_t kShift = 397;
  for (size_t i = 0; i < kSize; ++i) {
    const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kSize] & 0x7fffffffu);
    const uint32_t twist = (y & 1u) != 0 ? 0x9908b0dfu : 0u;
    state_[i] = state_[(i + kShift) % kSize] ^ (y >> 1) ^ twist;
  }
  position_ = 0;
}

uint32_t RandomState::next() {
  if (position_ == kSize) refill();
  uint32_t y = state_[position_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double RandomState::uniform() {
  const uint32_t high = next() >> 5, low = next() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;  // (high 2^26 + low) / 2^53
}

double RandomState::normal() {
  if (spare_normal_) {
    const double spare = *spare_normal_;
    spare_normal_.reset();
    return spare;
  }
  double x = 0.0, y = 0.0, square = 0.0;
  do {
    x = 2.0 * uniform() - 1.0;
    y = 2.0 * uniform() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  spare_normal_ = factor * x;
  return factor * y;
}

bool RandomState::bernoulli(double probability) {
  const double draw = uniform();
  return probability <= 0.5 ? draw > 1.0 - probability : draw <= probability;
}

}  // namespace ec
