// State as packages keep it: half precision, zeros at the start.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::metal {

// States of other types are converted where they are read and written; those that start from other
// numbers are kept as the difference from these. What has no such form stays, and the writer
// refuses it by name. Gives what users should know of each.
Result<std::vector<std::string>> give_half_states(Graph& graph);

}  // namespace ec::metal
