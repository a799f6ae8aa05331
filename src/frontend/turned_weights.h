// Weights in another order of their dimensions: frameworks store them in different ones.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "support/weight_memory.h"

namespace ec {

// The bytes of a constant with its dimensions permuted, computed from the bytes as they are stored.
// Of bytes that are still in their file they are deferred as well: the stored order is then never
// held. Empty where the memory cannot be had, and for an empty constant. Requires a permutation of
// all dimensions.
Blob turned_bytes(const Tensor& constant, const std::vector<int64_t>& perm, WeightMemory& memory);

// Turned weights by the tensor and the order: a layer that is used twice has them once. Bytes are
// bounded: many operators may name the same large constant.
class TurnedWeights {
 public:
  // `room`: bytes that may still be copied, counted over all graphs of a model; as is the memory.
  TurnedWeights(size_t& room, WeightMemory& memory) : room_(room), memory_(memory) {}
  // A constant with its dimensions permuted, computed at once; null when that would take too much.
  Tensor* permuted(Graph& graph, Tensor* tensor, const std::vector<int64_t>& perm);

 private:
  size_t& room_;
  WeightMemory& memory_;
  std::map<std::pair<const Tensor*, std::vector<int64_t>>, Tensor*> known_;  // looked up only
};

}  // namespace ec
