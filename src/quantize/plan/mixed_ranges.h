// Operations that put values of very different size under one scale: boxes and scores in one
// concatenation.
#pragma once

#include <optional>
#include <vector>

#include "quantize/ranges/calibrate.h"
#include "quantize/tuning.h"

namespace ec::quantize {

struct RangeMix {
  const Tensor* smallest = nullptr;  // the operand that loses
  double narrow = 0, wide = 0;       // widths of the ranges
};
// Finds operands that share one scale and whose ranges differ by at least this factor.
std::optional<RangeMix> mixed_ranges(const Operation& op, const Plan& plan,
                                     const CalibrationRun& run,
                                     double least = tuning::kMixedRanges);

// Concatenations whose result goes, moved at most, to outputs of the graph only, and that leave the
// smallest operand few steps. `certain`: so few that it cannot serve; else also those where it may
// be better off by itself.
std::vector<const Operation*> mixed_outputs(const Graph& graph, const Plan& plan,
                                            const CalibrationRun& run, bool certain = true);
// The graph outputs that such an operation ends in.
std::vector<const Tensor*> outputs_behind(const Graph& graph, const Operation& op);

}  // namespace ec::quantize
