// Makes what callers do to images part of the network: mean, std, colour order and layout go into
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

// What the layers behind the input will compute on.
enum class PixelArithmetic : uint8_t {
  Float,
  Integer,  // another rounding between pixels and weights would count
};

// On an imported float graph, before passes. Until bytes_at_input() the input is f32 with values
// from 0 to 255.
//
// The first convolution takes the preprocessing into its weights and bias where that is exact (see
// pixel_layers.h). Elsewhere a convolution of one tap stands in front of it: on floats it computes
// (pixel - mean) / std as a caller would, on integers it keeps pixels whole. Errors: Usage where
// the model has no image input, or several.
Result<FoldedInput> fold_preprocessing(Graph& graph, const Preprocessing& preprocessing,
                                       PixelArithmetic arithmetic);

// The last step, quantised or not: the input becomes uint8, unless it is an integer already.
Status bytes_at_input(Graph& graph, std::string_view input);

}  // namespace ec::quantize
