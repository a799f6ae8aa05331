// Operations of a graph copied into the closed bodies of an `if`.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ec::torch::script {

// Operations with first <= id < last, and the tensors that the branch gives.
struct Branch {
  uint32_t first = 0, last = 0;
  std::vector<ec::Tensor*> results;
};

// One `if` whose results are those of the branch that the condition chooses. The operations of the
// branches stay; erase them when nothing refers to them any more.
Result<ec::Operation*> outline_if(ec::Graph& graph, ec::Tensor* condition, const Branch& yes,
                                  const Branch& no, Location location);

// Removes operations with first <= id < last; nothing after them may use their results.
void erase_operations(ec::Graph& graph, uint32_t first, uint32_t last);

}  // namespace ec::torch::script
