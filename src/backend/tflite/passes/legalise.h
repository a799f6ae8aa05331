// The passes `legalise-tflite`, `keep-height-one` and `real-weights`.
#pragma once

#include "passes/pass.h"

namespace ec::passes {

extern const PassInfo kKeepHeightOnePass, kLegaliseTflitePass, kRealWeightsPass;

// Whether a graph that was read from a TFLite file has operations that no operator of TFLite stands
// for: custom operators of other programs, and what reading made of computed sizes.
bool has_foreign_operation(const Graph& graph);

}  // namespace ec::passes
