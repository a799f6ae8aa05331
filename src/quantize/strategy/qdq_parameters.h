// Quantisation that a float model carries: quantize-dequantize pairs on activations, integer
// weights behind a dequantize.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "quantize/weights/weights.h"
#include "support/result.h"

namespace ec::quantize {

// Scales of weights by the source name of the layer that reads them. Passes fold the integers into
// real weights and transpose them; the order of output channels stays.
using RecordedWeights = std::map<std::string, QuantParams>;

// The scales of an imported graph, before passes.
RecordedWeights record_weights(const Graph& graph);

// The integers that the model stored for operand `layer.operand` of a layer, which has real numbers
// by now. False, with nothing changed, where they are not steps of a recorded scale.
bool take_recorded(const RecordedWeights& recorded, const Operation& op, int32_t axis,
                   IntegerWeights& layer);

// Brings an imported graph into the form that passes and run_qat know: real weights instead of
// dequantised integers, and operations that move quantised integers on real numbers between a
// dequantize and a quantize.
Status expose_rounding(Graph& graph);

// Whether an activation is quantised and dequantised with the same constants.
bool has_rounding_pairs(const Graph& graph);

// What a quantize or dequantize with constant operands does, as parameters of a signed type: those
// of uint8 (uint16) move by half the range. Empty: no constants, or several scales on an
// activation.
struct PairParams {
  DType dtype = DType::I8;
  QuantParams params;
};
std::optional<PairParams> constant_params(const Operation& op);

}  // namespace ec::quantize
