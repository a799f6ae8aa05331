// Inputs whose sizes applications choose, as packages and the self-check have them.
#pragma once

#include <vector>

#include "frontend/flexible_shapes.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {

// What the interface says of each open input: the default, and a range or a list of shapes.
std::vector<CoremlFlexibleInput> open_features(const Graph& graph);

// Shapes at which the package is run: the default, another one, and the largest where that takes
// not much longer.
std::vector<GivenShapes> checked_shapes(const Graph& graph);

}  // namespace ec::metal
