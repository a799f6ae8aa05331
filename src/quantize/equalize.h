// Moves scale between neighbouring layers without changing what the network computes: a channel is
// divided by s where it is made and multiplied by s where it is read.
//
//   Weights       ranges of the channels' weights on both sides become equal (Nagel et al.,
//                 "Data-Free Quantization"): for weights that share one scale
//   Activations   ranges of the channels themselves become alike, as far as the weights behind can
//                 take it (Xiao et al., "SmoothQuant"): for activations, which always share one
#pragma once

#include "quantize/calibrate.h"

namespace ec::quantize {

enum class Equalization : uint8_t { Weights, Activations };

struct EqualizeOptions {
  Equalization what = Equalization::Weights;
  // A relu6 whose bound is reached limits its channels; where allowed, it becomes a relu and a
  // minimum with a bound per channel instead.
  bool allow_bounds = false;
};

// Changes constants of the graph in place; `run` saw this graph. The number of tensors whose
// channels were scaled.
Result<size_t> equalize(Graph& graph, const CalibrationRun& run, const EqualizeOptions& options);

}  // namespace ec::quantize
