#include "quantize/histogram.h"

#include <cmath>

namespace ec::quantize {

void Histogram::double_reach() {
  std::vector<uint64_t> merged(bins_.size(), 0);
  for (size_t i = 0; i < bins_.size(); ++i) merged[kSide / 2 + i / 2] += bins_[i];
  bins_ = std::move(merged);
  reach_ *= 2;
}

void Histogram::reach(double magnitude) {
  if (bins_.empty()) bins_.assign(2 * kSide, 0);
  // Powers of two: the bins do not depend on which sample came first.
  if (reach_ == 0) reach_ = std::exp2(std::ceil(std::log2(std::max(magnitude, 0x1p-100))));
  while (!(magnitude < reach_)) double_reach();
}

void Histogram::add(std::span<const float> values) {
  if (values.empty()) return;
  bool finite = true;
  const Range range = range_of(values, finite);
  extremes_ = total_ == 0 ? range : hull(extremes_, range);
  total_ += values.size();
  reach(
      std::max(std::abs(static_cast<double>(range.min)), std::abs(static_cast<double>(range.max))));
  const auto per_unit = static_cast<float>(1.0 / bin_width());  // a power of two: exact
  uint64_t* middle = bins_.data() + kSide;
  uint64_t zeros = 0;
  for (const float value : values) {
    // The product is exact, and this is its floor.
    const float at = value * per_unit;
    const auto whole = static_cast<int32_t>(at);
    ++middle[whole - (at < static_cast<float>(whole))];
    zeros += value == 0.0f;
  }
  zeros_ += zeros;
}

}  // namespace ec::quantize
