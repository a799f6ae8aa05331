#include "fuzz/flat_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ec::fuzz {
namespace {

constexpr std::array<uint32_t, 16> kHostileNumbers = {
    0,   1,     2,     3,          4,          7,          8,          127,
    255, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 1000};

}  // namespace

void FlatMutator::damage(std::string& file, std::string& what) {
  const size_t kind = pick(8);
  if (kind == 0) {
    what = "truncated";
    file.resize(pick(file.size()));
  } else if (kind == 1) {
    what = "bits flipped";
    for (size_t n = 1 + pick(8); n > 0; --n)
      file[pick(file.size())] ^= static_cast<char>(1 << pick(8));
  } else if (kind == 2) {
    what = "bytes overwritten";
    const size_t at = pick(file.size());
    for (size_t i = at; i < std::min(file.size(), at + 1 + pick(16)); ++i)
      file[i] = static_cast<char>(random_());
  } else if (kind <= 5) {
    // Offsets, sizes and indices are words at multiples of four.
    what = "word replaced";
    for (size_t n = 1 + pick(3); n > 0 && file.size() >= 8; --n) {
      const size_t at = pick(file.size() / 4) * 4;
      uint32_t word = kHostileNumbers[pick(kHostileNumbers.size())];
      if (pick(2) == 0) {
        std::memcpy(&word, file.data() + at, 4);
        word += static_cast<uint32_t>(pick(17)) - 8;
      }
      std::memcpy(file.data() + at, &word, std::min<size_t>(4, file.size() - at));
    }
  } else if (kind == 6) {
    what = "small word replaced";  // vtables and enumerations
    const size_t at = pick(std::max<size_t>(1, file.size() / 2)) * 2;
    const auto word = static_cast<uint16_t>(pick(4) == 0 ? random_() : pick(64));
    if (at + 2 <= file.size()) std::memcpy(file.data() + at, &word, 2);
  } else {
    what = "piece copied over another";
    const size_t length = std::min<size_t>(file.size(), 4 * (1 + pick(16)));
    const size_t from = pick(file.size() - length + 1) / 4 * 4;
    const size_t to = pick(file.size() - length + 1) / 4 * 4;
    std::memmove(file.data() + to, file.data() + from, length);
  }
}

std::string FlatMutator::mutate(const std::string& file, std::string& what) {
  std::string mutated = file;
  damage(mutated, what);
  if (pick(4) == 0 && !mutated.empty()) {
    std::string second;
    damage(mutated, second);
    what += ", " + second;
  }
  return mutated;
}

}  // namespace ec::fuzz
