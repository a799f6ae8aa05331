// Mutations of FlatBuffers files for robustness tests: truncation, flipped bits, and words replaced
// by numbers that break careless offset and size arithmetic. Deterministic for a seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace ec::fuzz {

class FlatMutator {
 public:
  explicit FlatMutator(uint64_t seed) : random_(seed) {}

  // A damaged copy of a sound file; `what` says in words what was done.
  std::string mutate(const std::string& file, std::string& what);

 private:
  size_t pick(size_t count) { return count == 0 ? 0 : static_cast<size_t>(random_() % count); }
  void damage(std::string& file, std::string& what);

  std::mt19937_64 random_;
};

}  // namespace ec::fuzz
