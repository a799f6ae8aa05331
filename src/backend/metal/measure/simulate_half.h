// Half precision with the kernels of single precision, which are fast: what computes on f16
// computes on f32, and every result is rounded.
#pragma once

#include <unordered_set>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::metal {

// Rewrites the graph; inputs and outputs are in single precision already. Returns the tensors whose
// elements have to be rounded to half precision when they were computed.
Result<std::unordered_set<const Tensor*>> simulate_half(Graph& graph);

}  // namespace ec::metal
