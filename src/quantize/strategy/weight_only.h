// Weights stored smaller under operations that go on computing on floats. No activation gets
// parameters, so no samples are needed; where there are some they measure the outputs.
#pragma once

#include "quantize/strategy/strategy.h"

namespace ec::quantize {

std::span<const StepInfo> stored_weights_steps();
// 8-bit weights; operations that read them round their other operand at run time (dynamic range).
Result<QuantizeResult> run_dynamic(const Graph& graph, const QuantizeRequest& request,
                                   DiagnosticSink& sink);
// 16-bit floats, made wide again in front of their readers.
Result<QuantizeResult> run_float16(const Graph& graph, const QuantizeRequest& request,
                                   DiagnosticSink& sink);

}  // namespace ec::quantize
