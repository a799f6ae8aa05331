// Tables of weights: each weight becomes the nearest of a few values. Weights are numbers on a
// line, for which the best table can be found exactly and needs no random start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/result.h"

namespace ec::metal {

struct Palette {
  std::vector<float> table;      // ascending; no more entries than there are different weights
  std::vector<uint8_t> indices;  // one for each weight
};

// The table of at most `entries` values (2 to 256) with the least squared error. `half`: weights
// and table are numbers of half precision. In single precision tensors of more than 65,536
// different weights are cut between 65,536 equal steps of their range first, and between all
// weights then. All weights have to be finite.
Result<Palette> palettize(std::span<const float> weights, size_t entries, bool half);

}  // namespace ec::metal
