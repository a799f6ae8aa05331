// Weights that an import left in their files are read into memory.
#pragma once

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

// Reads all constants of the graph, and of the graphs inside it, whose bytes are deferred
// (support/deferred_bytes.h): each once, however many constants share it.
Status load_weights(Graph& graph);

}  // namespace ec
