// Rules that every quantised graph keeps, whoever made it.
#pragma once

#include "ir/graph.h"
#include "support/result.h"

namespace ec::quantize {

// Scales positive and finite, zero points within their type, as many parameters as channels, biases
// with the scale of input x weights, symmetric weights. All faults go to the sink (BadQuantParams);
// the first is returned.
Status verify_quantized(const Graph& graph, DiagnosticSink& sink);

}  // namespace ec::quantize
