// Integer weights of every layer that has some, between the choice of ranges and the new graph, so
// that methods can improve them.
#pragma once

#include <optional>
#include <vector>

#include "quantize/ranges/parameters.h"

namespace ec::quantize {

// Integer weights lie between -127 and 127: symmetric, so that -128 stays unused.
inline constexpr int64_t kLargestWeight = 127;

struct IntegerWeights {
  size_t operand = 1;  // which one holds the weights
  QuantParams params;
  std::vector<int8_t> values;
  // The bias to use, in real numbers; empty where the layer has none.
  std::vector<float> bias;
  // A scale was raised so that the bias fits the accumulator.
  bool widened = false;
  // Differs from rounding to nearest: not shared with other readers of the same constant.
  bool adjusted = false;

  bool operator==(const IntegerWeights&) const = default;

  float real(size_t element, size_t channel) const {
    return static_cast<float>(values[element]) *
           params.scales[params.scales.size() == 1 ? 0 : channel];
  }
};

// By operation id; empty where the operation has no integer weights.
using LayerWeights = std::vector<std::optional<IntegerWeights>>;

LayerWeights round_weights(const Graph& graph, const Plan& plan, const FormParams& params);

// The weights as the integer kernel sees them, as real numbers in the order of the constant.
std::vector<float> real_weights(const IntegerWeights& weights, const Tensor& constant);

}  // namespace ec::quantize
