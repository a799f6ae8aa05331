// An interval of real numbers that integers have to represent.
#pragma once

#include <algorithm>
#include <span>

namespace ec::quantize {

struct Range {
  float min = 0, max = 0;
  bool operator==(const Range&) const = default;
};

inline Range hull(const Range& a, const Range& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

// The size of what integers represent for the range: zero is always part of it.
inline double span_with_zero(const Range& range) {
  return static_cast<double>(std::max(range.max, 0.0f)) -
         static_cast<double>(std::min(range.min, 0.0f));
}

// Smallest and largest element; `finite` becomes false where one is infinite or not a number.
Range range_of(std::span<const float> values, bool& finite);

}  // namespace ec::quantize
