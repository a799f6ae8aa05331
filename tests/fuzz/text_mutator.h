// Damage to text that is interpreted: source code and JSON.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace ec::fuzz {

class TextMutator {
 public:
  explicit TextMutator(uint64_t seed) : random_(seed) {}

  // Numbers, names, indentation and lines of TorchScript; `what` says in words what was done.
  std::string mutate_code(const std::string& code, std::string& what);
  // Numbers, names and brackets of JSON between two places; in place where the length has to stay.
  void mutate_json(std::string& text, bool in_place, size_t begin, size_t end);

 private:
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }

  std::mt19937_64 random_;
};

}  // namespace ec::fuzz
