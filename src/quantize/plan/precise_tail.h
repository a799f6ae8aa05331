// The end of a network that decodes its results: boxes from distances, probabilities from scores,
// both joined in one output. It is little work, and 8-bit steps in it cost boxes and scores that
// the layers in front of it had right.
#pragma once

#include "quantize/plan/precise_outputs.h"

namespace ec::quantize {

// Operations behind the last layers with weights, up to float outputs, that compute on floats; the
// layers that they read get 16-bit activations where the target has them. Empty where the outputs
// come straight from layers, or where the tail costs more than tuning::kPreciseTailCost of the
// network.
PreciseOutputs precise_tail(const Graph& graph, const Plan& plan);

}  // namespace ec::quantize
