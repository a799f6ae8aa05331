// The noise that each layer makes by itself: everything is exact but its own weights and its own
// result.
#pragma once

#include "quantize/measure/accuracy.h"
#include "quantize/trial/trial.h"

namespace ec::quantize {

// Whether the operation rounds anything by itself: what only moves numbers does not.
bool makes_noise(const Operation& op, const Plan& plan);

// Noise at the outputs by operation id; zero where the operation rounds nothing.
Result<std::vector<double>> layer_noise(const Graph& graph, const Plan& plan,
                                        const FormParams& params, const LayerWeights& weights,
                                        Trial& trial);

// Writes the shares into the layers of a report.
void fill_shares(AccuracyReport& report, const std::vector<double>& noise);

}  // namespace ec::quantize
