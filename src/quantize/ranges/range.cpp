#include "quantize/ranges/range.h"

#include <array>
#include <cmath>
#include <limits>

namespace ec::quantize {

Range range_of(std::span<const float> values, bool& finite) {
  constexpr size_t kLanes = 8;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::array<float, kLanes> low, high, zero;
  low.fill(kInfinity);
  high.fill(-kInfinity);
  zero.fill(0.0f);
  // v * 0 is 0 for finite numbers only, and not-a-number stays through the sum.
  const auto take = [&](size_t lane, float v) {
    low[lane] = v < low[lane] ? v : low[lane];
    high[lane] = v > high[lane] ? v : high[lane];
    zero[lane] += v * 0.0f;
  };
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  for (; i < values.size(); ++i) take(0, values[i]);
  for (const float sum : zero)
    if (sum != 0.0f || std::isnan(sum)) finite = false;
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

}  // namespace ec::quantize
