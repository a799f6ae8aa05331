// Sizes for what a model leaves open, where something has to be fixed: compiling, measuring,
// quantising. A size is taken from, in this order,
//   1. the shapes that are given: calibration samples, the arrays of a run;
//   2. the model's own default: TFLite files have a shape beside the open signature;
//   3. the batch rule below: 1, with a remark.
// What is still open is asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec {

// Shapes of data for the inputs, by name, batch included. Shapes that contradict the model are left
// to whoever feeds the data.
using GivenShapes = std::map<std::string, std::vector<int64_t>>;

// Metadata of a graph whose file says a shape beside open sizes: "default_shape.NAME" =
// "1x96x96x3".
inline constexpr std::string_view kDefaultShapeKey = "default_shape.";

// Whether dimension `axis` of an input stands for the batch, so that 1 is a safe default.
//   - Its name says so: a word "batch" in it at any axis; "n", "b", "bs", "bsz" at the first.
//   - It has no name of its own (unnamed in ONNX, s77 of torch.export), is the first, and the input
//     has at least three dimensions: images, audio, sequences of feature vectors.
//   - The same with two dimensions, when every input of the graph has such a first dimension, all
//     other sizes are fixed, and every output begins with one of these dimensions.
// Everything else may be a count that the model computes with (tokens, points, time steps).
bool stands_for_batch(const Graph& graph, size_t input, size_t axis);

// The full shape of every input that has open sizes. Remarks say what was chosen; an error lists
// every size that remains, and how to give it.
Result<GivenShapes> default_shapes(const Graph& graph, const GivenShapes& given,
                                   DiagnosticSink& sink);

// Tells which inputs got the size of the calibration data, of those that sizes were taken for.
void remark_given_sizes(const GivenShapes& given, const GivenShapes& taken, DiagnosticSink& sink);

// Fixes the sizes of the inputs and infers all types again.
Status bind_shapes(Graph& graph, const GivenShapes& shapes, DiagnosticSink& sink);

// Both: afterwards every input has a fixed shape. Does nothing when all sizes are fixed.
Status bind_default_sizes(Graph& graph, const GivenShapes& given, DiagnosticSink& sink);

}  // namespace ec
