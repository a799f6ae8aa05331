// Hashes of attributes and constants for finding equal ones. Equality is always checked afterwards.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace ec {

inline uint64_t hash_mix(uint64_t seed, uint64_t value) {
  // The finaliser of splitmix64 over the running value.
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t hash_attrs(const Attrs& attrs);
uint64_t hash_type(const TensorType& type);
// Type and a sample of the bytes: weights differ in any sample, and reading all of them would cost
// more than everything else the pass does (they may still be on the disk).
uint64_t hash_constant(const Tensor& tensor);
bool same_constant(const Tensor& a, const Tensor& b);

}  // namespace ec
