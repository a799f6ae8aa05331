// Quantisation that a float model carries: quantize-dequantize pairs on activations, integer
// weights behind a dequantize.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {
struct PassContext;
}

namespace ec::quantize {

// Parameters of stored constants by the source name of the operation that reads them. Passes fold
// the integers into real numbers and transpose them; the order of output channels stays.
using RecordedWeights = std::map<std::string, std::vector<QuantParams>>;

// The scales of an imported graph, before passes.
RecordedWeights record_weights(const Graph& graph);

// Brings a graph into the form that passes and `qat` know: real weights instead of dequantised
// integers, and operations that move quantised integers on real numbers between a dequantize and a
// quantize.
Status expose_rounding(Graph& graph);

// The same behind passes: also computes what depends on such constants alone, through any number of
// roundings.
Status fold_rounding(Graph& graph, PassContext& context);

// Whether an activation is quantised and dequantised with the same constants.
bool has_rounding_pairs(const Graph& graph);

// What a quantize or dequantize with constant operands does, as parameters of a signed type: those
// of uint8 (uint16) move by half the range. Empty: no constants, or several scales on an
// activation.
struct PairParams {
  DType dtype = DType::I8;
  QuantParams params;
  bool operator==(const PairParams&) const = default;
};
std::optional<PairParams> constant_params(const Operation& op);
// The same in the type that the integers have.
std::optional<PairParams> stored_params(const Operation& op);

// Whether every value is a step of these parameters, which have one scale.
bool are_steps(std::span<const float> values, const QuantParams& params, DType dtype);

}  // namespace ec::quantize
