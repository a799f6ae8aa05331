// Outputs that hold several things become one output for each: boxes and scores then have scales of
// their own also where everything is an integer.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::quantize {

struct SplitOutput {
  std::string name;                // of the output that is gone
  std::vector<std::string> parts;  // names of those in its place, in the order of its elements
};

// The parts are those that the graph shows (measure/output_parts.h); neighbours that mean the same
// stay together. What joined them is taken apart up to the operations that make them.
Result<std::vector<SplitOutput>> split_outputs(Graph& graph);

}  // namespace ec::quantize
