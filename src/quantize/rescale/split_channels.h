// Computes uneven channels (uneven_channels.h) in parts: the convolution that makes them, what
// stands between, and the depthwise convolution that makes them alike, once for each part. Their
// results are joined; the layers behind read the channels in the new order. The network computes
// what it did.
#pragma once

#include "quantize/rescale/uneven_channels.h"

namespace ec::quantize {

// Whether there is a depthwise convolution that could have uneven channels: it needs no samples to
// say no.
bool may_split_channels(const Graph& graph);

// The number of tensors that were taken apart. `plan` and `run` are of this graph.
Result<size_t> split_channels(Graph& graph, const Plan& plan, const CalibrationRun& run);

}  // namespace ec::quantize
