// Outputs that the caller takes as floats need no rounding to 8 bits. Rounded scores that fall on
// the same step are a tie, which the first of them wins whatever the exact scores were.
#pragma once

#include <map>
#include <vector>

#include "quantize/plan/plan.h"

namespace ec::quantize {

struct PreciseOutputs {
  // By operation id, for PlanOptions::chosen.
  std::map<uint32_t, Choice> choices;
  // Means over many values that the layers of `choices` read: finer than what they are made of.
  std::map<uint32_t, Choice> means;
};

// For outputs at a float interface: a final softmax or sigmoid computes on floats, and the layer
// that makes its scores, or the output itself, with 16-bit activations where the target has them.
// `most_share`: the largest share of the network's cost that such an operation may have, as integer
// kernels of 16 bits are slow.
PreciseOutputs precise_outputs(const Graph& graph, const Plan& plan, double most_share);

}  // namespace ec::quantize
