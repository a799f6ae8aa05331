// Moves scale between neighbouring operations without changing what the network computes: a channel
// is divided by a factor where it is made and multiplied by it where it is read. The factors are
// those that make rounding cost least (channel_factors.h).
//
//   Layers   between two layers with weights (Nagel et al., "Data-Free Quantization")
//   Gains    between the gain of a normalisation or the gate of an attention over channels, and the
//            layers behind it (Xiao et al., "SmoothQuant")
#pragma once

#include "quantize/calibrate.h"

namespace ec::quantize {

enum class Equalization : uint8_t { Layers, Gains };

struct EqualizeOptions {
  Equalization what = Equalization::Layers;
  // A relu6 whose bound is reached limits its channels; where allowed, it becomes a relu and a
  // minimum with a bound per channel instead.
  bool allow_bounds = false;
};

// Whether there is a tensor whose channels could be scaled.
bool can_equalize(Graph& graph, const Plan& plan, Equalization what);

// Changes constants of the graph in place; `plan` and `run` are of this graph. The number of tensors
// whose channels were scaled.
Result<size_t> equalize(Graph& graph, const Plan& plan, const CalibrationRun& run,
                        const EqualizeOptions& options);

}  // namespace ec::quantize
