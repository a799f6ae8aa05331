// Rounded weights shift the mean of what a layer gives; its bias takes the shift back (Nagel et
// al., "Data-Free Quantization Through Weight Equalization and Bias Correction").
#pragma once

#include "quantize/ranges/calibrate.h"
#include "quantize/weights/weights.h"

namespace ec::quantize {

// New biases for layers whose inputs' means per channel were seen. Layers without a bias are left
// as they are.
LayerWeights correct_biases(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                            const LayerWeights& weights);

}  // namespace ec::quantize
