// Operations whose values need more than 8 bits, whatever their ranges are.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

// By operation id: whether it is one of those that normalisations are made of (mean, squares and
// root of many values). The layers around them are not.
std::vector<bool> normalization_ops(const Graph& graph);

// By operation id: whether it computes coordinates in a tensor, up to where they are rounded to
// integers, or the fractions that rounding leaves: a step of 8 bits is more than a pixel.
std::vector<bool> coordinate_ops(const Graph& graph);

}  // namespace ec::quantize
