// Nested graphs on their way into blocks.
#pragma once

#include "ir/graph.h"

namespace ec::metal {

// Constants that bodies are given become constants inside of them: half precision rounds what it
// knows, and readers of packages know the constants around a block. Their bytes are shared, in the
// weight file, too.
void sink_constants(Graph& graph);

}  // namespace ec::metal
