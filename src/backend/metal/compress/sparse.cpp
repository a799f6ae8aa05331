#include "backend/metal/compress/sparse.h"

#include <algorithm>
#include <cmath>

namespace ec::metal {

float magnitude_at(std::span<const float> weights, double share) {
  if (weights.empty() || share <= 0) return 0;
  std::vector<float> sizes(weights.size());
  std::ranges::transform(weights, sizes.begin(), [](float w) { return std::abs(w); });
  const auto place = static_cast<size_t>(share * static_cast<double>(sizes.size() - 1));
  const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(std::min(place, sizes.size() - 1));
  std::ranges::nth_element(sizes, at);
  return *at;
}

std::vector<float> without_small(std::span<const float> weights, float magnitude) {
  std::vector<float> kept(weights.begin(), weights.end());
  for (float& weight : kept)
    if (std::abs(weight) <= magnitude) weight = 0;
  return kept;
}

}  // namespace ec::metal
