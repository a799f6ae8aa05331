// What an error in one channel of a tensor costs further on, against the other channels of it: by
// the weights that read it, from the outputs backwards.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

// By tensor id and channel (index of the last dimension), one on average; empty where all channels
// count alike.
using ChannelImportance = std::vector<std::vector<double>>;

ChannelImportance channel_importance(const Graph& graph);

// Ones where nothing is known.
std::vector<double> importance_of(const ChannelImportance& importance, const Tensor& tensor,
                                  size_t channels);

}  // namespace ec::quantize
