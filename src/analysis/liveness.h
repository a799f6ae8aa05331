// When tensors of a graph are needed, if its operations run in a given order.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace ec {

// Steps are positions in the order of execution.
struct LiveRange {
  static constexpr int64_t kNever = -1;
  // Behind every step: outputs of the graph stay to the end.
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max() / 2;

  int64_t first =
      kNever;             // the step that makes it; kNever for inputs, constants and what is unmade
  int64_t last = kNever;  // the last step that makes or reads it

  // Covers the other range, too: for tensors that share memory.
  void join(const LiveRange& other);
};

// The operations of `order` that outputs of the graph need, and those that write state. `order` has
// producers before consumers.
std::vector<const Operation*> live_operations(const Graph& graph,
                                              std::span<const Operation* const> order);

// By tensor id.
std::vector<LiveRange> live_ranges(const Graph& graph, std::span<const Operation* const> order);

}  // namespace ec
