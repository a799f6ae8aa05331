// How much an error in one channel of a tensor matters at the outputs, compared with the other
// channels of the tensor. Computed backwards from the outputs by the weights that read each
// channel.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

// By tensor id and channel (index of the last dimension), with a mean of one; empty where all
// channels count alike.
using ChannelImportance = std::vector<std::vector<double>>;

ChannelImportance channel_importance(const Graph& graph);

// The importance of each channel of a tensor; ones where nothing is known.
std::vector<double> importance_of(const ChannelImportance& importance, const Tensor& tensor,
                                  size_t channels);

}  // namespace ec::quantize
