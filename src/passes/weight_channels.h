// Weights seen by channel: which output or input channel each element belongs to, and the two
// things that fusion does with it. Weights are most of a model, so that these loops are most of the
// time that optimising a network takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace ec {

// Weights as [outer, channels in the middle, inner]: the channel of an element.
struct ChannelOf {
  int64_t inner = 1;           // elements between two steps of the channel
  int64_t count = 1;           // channels along the dimension
  int64_t group_elements = 0;  // not 0: elements per group; each group has `count` channels more
  int64_t operator()(int64_t element) const {
    const int64_t channel = element / inner % count;
    return group_elements == 0 ? channel : element / group_elements * count + channel;
  }
};

struct WeightChannels {
  ChannelOf output, input;
};

// Single precision weights times the factor of their channel, straight from the file's bytes.
// Empty when there is no memory for them.
Blob scaled_floats(std::span<const std::byte> bytes, const ChannelOf& channel,
                   const std::vector<double>& scale);

// What a shift of the inputs adds to the sums: to the bias of each output channel, alpha times each
// weight times the shift of its input channel.
void add_shifts(const Tensor* weights, const WeightChannels& channels,
                const std::vector<double>& shift, double alpha, std::vector<double>& bias);

}  // namespace ec
