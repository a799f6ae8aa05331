// The operations of a nested graph as operations of another one.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ec {

// Adds the body's operations to the graph. Its inputs become `arguments`; gives its results. What
// was added is in `added`, producers first.
Result<std::vector<Tensor*>> inline_body(Graph& graph, const Graph& body,
                                         const std::vector<Tensor*>& arguments,
                                         std::vector<Operation*>* added = nullptr);

}  // namespace ec
