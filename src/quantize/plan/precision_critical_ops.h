// Parts of a graph whose numbers need more than 8 bits, whatever their ranges are.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

// By operation id: what normalisations are made of. Mean, squares and root of many values; the
// layers around them are none of it.
std::vector<bool> normalization_ops(const Graph& graph);

// By operation id: arithmetic on places in a tensor, up to where they become whole numbers, and on
// what is left of them beside those: a step of 8 bits is more than a pixel.
std::vector<bool> coordinate_ops(const Graph& graph);

}  // namespace ec::quantize
