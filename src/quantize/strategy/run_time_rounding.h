// Layers whose inputs are quantised at run time, with a scale that each run computes ("dynamic
// quantisation" of ONNX Runtime and PyTorch): weights are stored integers, activations floats.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/graph.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec::quantize {

// Makes float layers of them, for targets that have no operators for such rounding: weights are
// what the stored integers stand for, inputs are read as they are before they are rounded. Results
// move by less than the rounding did. Gives the number of inputs that are no longer rounded.
Result<size_t> drop_run_time_rounding(Graph& graph);

// What a user is told of so many layers.
Diagnostic run_time_rounding_remark(size_t layers, std::string_view target);

}  // namespace ec::quantize
