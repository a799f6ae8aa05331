// Makes what callers do to pictures part of the network: mean, std, colour order and layout go into
// the first layer, and the input takes bytes as cameras give them (RGB, height x width x channels).
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "quantize/calibration/preprocess.h"
#include "support/result.h"

namespace ec::quantize {

struct FoldedInput {
  std::string input;   // its name
  Preprocessing rest;  // what a caller still does: the size
};

// On an imported float graph, before passes. Until bytes_at_input() the input is f32 with values
// from 0 to 255.
//
// The first convolution takes the preprocessing into its weights and bias where that is exact:
// where nothing is padded, or where the mean is zero (padding is zero, which is another pixel than
// the one that normalises to zero). Elsewhere a convolution of one tap in front of it computes
// (pixel - mean) / std. Errors: Usage where the model has no image input, or several.
Result<FoldedInput> fold_preprocessing(Graph& graph, const Preprocessing& preprocessing);

// The last step, quantised or not: the input becomes uint8, unless it is an integer already.
Status bytes_at_input(Graph& graph, std::string_view input);

// Parameters of a quantised input that takes pixels: every step is one.
QuantParams pixel_params(DType dtype);

}  // namespace ec::quantize
