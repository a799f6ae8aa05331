// Quantisation with the parameters that the model carries: nothing is measured, nothing recomputed.
#pragma once

#include "quantize/strategy/strategy.h"

namespace ec::quantize {

std::span<const StepInfo> qat_steps();
// NoTrainedRanges where the graph has no quantize-dequantize pairs.
Result<QuantizeResult> run_qat(const Graph& graph, const QuantizeRequest& request,
                               DiagnosticSink& sink);

}  // namespace ec::quantize
