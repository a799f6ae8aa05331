// Moves scale between neighbouring operations without changing what the network computes: a channel
// is divided by a factor where it is made and multiplied by it where it is read. The factors are
// those that make rounding cost least (channel_factors.h).
//
// Between layers it is the method of Nagel et al. ("Data-Free Quantization"), behind gains that of
// Xiao et al. ("SmoothQuant").
#pragma once

#include "quantize/ranges/calibrate.h"
#include "quantize/rescale/scalable_edges.h"

namespace ec::quantize {

struct EqualizeOptions {
  Equalization what = Equalization::Layers;
  // A relu6 whose bound is reached limits its channels; where allowed, it becomes a relu and a
  // minimum with a bound per channel instead.
  bool allow_bounds = false;
};

// Changes constants of the graph in place; `plan` and `run` are of this graph. The number of
// tensors whose channels were scaled.
Result<size_t> equalize(Graph& graph, const Plan& plan, const CalibrationRun& run,
                        const EqualizeOptions& options);

}  // namespace ec::quantize
