// The outputs of one run before anything is measured.
#pragma once

#include "ir/graph.h"
#include "quantize/calibration/sample_source.h"
#include "support/budget.h"

namespace ec::quantize {

// Whether a sample keeps to the limits of one run: asked before one is made.
Status check_sample_fits(const std::vector<ModelInput>& inputs, const Budget& one_run);

// Runs the first sample by itself and within the limits of one run, so that a model that never ends
// is told before calibration waits for it: the errors are those of limits. Every other one is left
// to the strategy, which says more; there are no outputs then.
Result<std::vector<Value>> first_outputs(const Graph& graph, SampleSource& samples,
                                         Budget& one_run);

}  // namespace ec::quantize
