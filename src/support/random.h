// A small counter-based random generator: element i of a stream depends only on the seed and i, so
// results repeat on every machine, whatever the order of computation.
#pragma once

#include <cstdint>

namespace ec {

class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : base_(mix(seed + kStep)) {}

  uint64_t bits(uint64_t i) const { return mix(base_ + (i + 1) * kStep); }
  // Uniform in [0, 1), 53 bits.
  double uniform(uint64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }

 private:
  // SplitMix64 (Steele, Lea, Flood 2014): the golden-ratio step and its output mixer.
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t base_;
};

}  // namespace ec
