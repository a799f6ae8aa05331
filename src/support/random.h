// Random numbers that repeat on every machine: the Mersenne Twister (MT19937, Matsumoto and
// Nishimura 1998) with the conversions of numpy.random.RandomState, so that a seed gives numpy's
// numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace ec {

class RandomState {
 public:
  // numpy takes seeds of 32 bits; the halves of a longer one are joined.
  explicit RandomState(uint64_t seed);

  double uniform();  // [0, 1), 53 bits
  double normal();   // mean 0, deviation 1: polar Box-Muller
  // 1 with the given probability, else 0: numpy's binomial of one trial.
  bool bernoulli(double probability);

 private:
  static constexpr size_t kSize = 624;

  uint32_t next();
  void refill();

  std::array<uint32_t, kSize> state_;
  size_t position_ = kSize;
  std::optional<double> spare_normal_;
};

}  // namespace ec
