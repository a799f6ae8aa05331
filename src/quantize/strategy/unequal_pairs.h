// Integers that are dequantised with another scale than they were quantised with. Core ML's tools
// write sums like this: one operand's scale is 1, and the scales around the sum are divided by it.
#pragma once

#include "ir/graph.h"
#include "support/result.h"

namespace ec::quantize {

// Gives such pairs equal scales, with the quotient as a factor behind them; factors of sums go on
// to the next quantize, where they become part of its scale. The scales of a sum may differ by the
// rounding of half precision.
Status equal_pairs(Graph& graph);

}  // namespace ec::quantize
