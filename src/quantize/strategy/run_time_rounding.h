// Layers whose inputs are quantised at run time, with a scale that each run computes ("dynamic
// quantisation" of ONNX Runtime and PyTorch): weights are stored integers, activations floats.
#pragma once

#include <cstddef>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::quantize {

// Makes float layers of them, for targets that have no operators for such rounding: weights are
// what the stored integers stand for, inputs are read as they are before they are rounded. Results
// move by less than the rounding did. Gives the number of inputs that are no longer rounded.
Result<size_t> drop_run_time_rounding(Graph& graph);

}  // namespace ec::quantize
