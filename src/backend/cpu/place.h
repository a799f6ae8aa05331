// Which kernels the CPU session chooses for the operations of a graph.
#pragma once

#include "ir/graph.h"
#include "report/placement.h"

namespace ec {

// Prepares a session of the graph to see its choices. Errors are those of preparing it.
Result<PlacementReport> place_on_cpu(const Graph& graph);

}  // namespace ec
