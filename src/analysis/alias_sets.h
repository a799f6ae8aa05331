// Which tensors share memory. Each set has one root, which stands for the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ec {

class AliasSets {
 public:
  // Every tensor, by id, is a set of its own.
  explicit AliasSets(size_t tensors = 0);

  uint32_t root(uint32_t tensor);
  // The sets of both become one, with the root of `keeper`. The joins of n tensors take O(n log n)
  // together, whatever their order.
  void join(uint32_t keeper, uint32_t other);

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace ec
