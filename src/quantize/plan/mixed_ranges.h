// Operations that put values of very different size under one scale: boxes and scores in one
// concatenation.
#pragma once

#include <optional>
#include <vector>

#include "quantize/ranges/calibrate.h"

namespace ec::quantize {

struct RangeMix {
  const Tensor* smallest = nullptr;  // the operand that loses
  double narrow = 0, wide = 0;       // widths of the ranges
};
// Finds operands that share one scale and differ so much that the smallest has few steps left.
std::optional<RangeMix> mixed_ranges(const Operation& op, const Plan& plan,
                                     const CalibrationRun& run);

// Concatenations with mixed ranges whose result goes, moved at most, to outputs of the graph only.
std::vector<const Operation*> mixed_outputs(const Graph& graph, const Plan& plan,
                                            const CalibrationRun& run);
// The graph outputs that such an operation ends in.
std::vector<const Tensor*> outputs_behind(const Graph& graph, const Operation& op);

}  // namespace ec::quantize
