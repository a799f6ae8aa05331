// Weights without the small ones.
#pragma once

#include <span>
#include <vector>

namespace ec::metal {

// The magnitude up to which weights become zero so that about `share` (0 to 1) of them are: the one
// at that place of the sorted magnitudes. Weights that are alike share their fate.
float magnitude_at(std::span<const float> weights, double share);

// Zeros in place of weights up to the magnitude.
std::vector<float> without_small(std::span<const float> weights, float magnitude);

}  // namespace ec::metal
