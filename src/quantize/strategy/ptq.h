// Post-training quantisation: ranges of activations are measured on samples.
#pragma once

#include "quantize/strategy/strategy.h"

namespace ec::quantize {

std::span<const StepInfo> ptq_steps();
Result<QuantizeResult> run_ptq(const Graph& graph, const QuantizeRequest& request,
                               DiagnosticSink& sink);
// The same with 16-bit activations.
Result<QuantizeResult> run_a16w8(const Graph& graph, const QuantizeRequest& request,
                                 DiagnosticSink& sink);

}  // namespace ec::quantize
