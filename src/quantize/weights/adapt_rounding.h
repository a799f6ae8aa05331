// Rounds the weights of a layer so that its results change least on the calibration samples, where
// rounding each to the nearest changes them more: errors of weights whose inputs go together
// cancel. What Nagel et al. ask for ("Up or Down? Adaptive Rounding for Post-Training
// Quantization"), solved one input at a time with the remaining ones making up for the error
// (Frantar et al., "GPTQ").
#pragma once

#include "quantize/tuning.h"
#include "quantize/weights/layer_inputs.h"
#include "quantize/weights/weights.h"

namespace ec::quantize {

struct AdaptRoundingOptions {
  LayerInputsOptions inputs;
  size_t most_depth = tuning::kMostAdaptDepth;  // products per result; deeper layers are left
};

// Multiplications it takes, about.
double adapting_cost(const Graph& graph, const LayerWeights& weights,
                     const AdaptRoundingOptions& options);

// Biases are to be corrected behind it (correct_bias.h): errors of the mean are left to them.
Result<LayerWeights> adapt_rounding(const Graph& graph, const LayerWeights& weights,
                                    SampleSource& source, std::span<const size_t> samples,
                                    const AdaptRoundingOptions& options);

}  // namespace ec::quantize
