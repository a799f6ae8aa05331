// Weights as integers with scales of blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ec::metal {

// How a tensor of the shape `shape` is cut: the block of each dimension, which divides its size.
struct BlockCut {
  std::vector<int64_t> shape, block;
  std::vector<int64_t> counts() const;  // blocks along each dimension
};

struct ScaledWeights {
  std::vector<int8_t> data;
  std::vector<float> scales;  // one for each block, in the order of `counts`
};

// weight = scale * integer, without an offset. Scales are searched for the least squared error from
// the one on which the largest weight of the block is the largest integer; none is worse than that
// one. `half`: scales are numbers of half precision. All weights have to be finite.
ScaledWeights scale_weights(std::span<const float> weights, const BlockCut& cut, int bits,
                            bool half);

}  // namespace ec::metal
