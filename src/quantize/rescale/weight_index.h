// Which channels the elements of a layer's weights belong to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

struct WeightIndex {
  size_t outputs = 0, inputs = 0;  // channels
  // By element: which output channel it adds to, and which input channel it multiplies.
  std::vector<uint32_t> output, input;
  // Every output channel reads the input channel of its own only.
  bool depthwise = false;
};

// The index of a convolution with channels last or of a linear layer whose operand 1 holds constant
// weights; empty for everything else.
std::optional<WeightIndex> weight_index(const Operation& op);

}  // namespace ec::quantize
