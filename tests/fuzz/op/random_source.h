// Random choices that are a function of the seed alone, on every machine and with every library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace ec::fuzz {

// SplitMix64 (Steele, Lea, Flood 2014): one word of state, so that a generator per model is free.
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) {
    next();
  }

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Both ends included.
  int64_t pick(int64_t low, int64_t high) {
    const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    return width == 0 ? static_cast<int64_t>(next())
                      : static_cast<int64_t>(static_cast<uint64_t>(low) + next() % width);
  }
  size_t index(size_t count) { return static_cast<size_t>(next() % count); }
  bool chance(int percent) { return next() % 100 < static_cast<uint64_t>(percent); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[index(list.size())];
  }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[index(list.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace ec::fuzz
