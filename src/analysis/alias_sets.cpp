#include "analysis/alias_sets.h"

#include <numeric>

namespace ec {

AliasSets::AliasSets(size_t tensors) : parent_(tensors) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

uint32_t AliasSets::root(uint32_t tensor) {
  // Halves the path on the way, which keeps later searches short.
  while (parent_[tensor] != tensor) {
    parent_[tensor] = parent_[parent_[tensor]];
    tensor = parent_[tensor];
  }
  return tensor;
}

void AliasSets::join(uint32_t keeper, uint32_t other) { parent_[root(other)] = root(keeper); }

}  // namespace ec
