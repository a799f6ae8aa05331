// Names of a model's outputs, by which callers ask for them and files list them.
#pragma once

#include "ir/graph.h"

namespace ec {

// Files may give two outputs one name, or an output none: the second one becomes "NAME_2", and one
// without a name "output".
void make_output_names_unique(Graph& graph);

}  // namespace ec
