// Counts of values around zero in bounded memory. The range doubles when a value lies outside, and
// neighbouring bins are merged, so that counts stay exact whatever the order of the samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quantize/ranges/range.h"
#include "quantize/tuning.h"

namespace ec::quantize {

class Histogram {
 public:
  // Bins on either side of zero.
  static constexpr size_t kSide = tuning::kHistogramSide;

  void add(std::span<const float> values);                      // finite values
  void add(std::span<const float> values, const Range& range);  // the smallest and the largest

  bool empty() const { return total_ == 0; }
  uint64_t total() const { return total_; }
  uint64_t zeros() const { return zeros_; }  // exactly zero: no range misrepresents them
  Range extremes() const { return extremes_; }
  double bin_width() const { return reach_ / static_cast<double>(kSide); }
  std::span<const uint64_t> bins() const { return bins_; }
  // The value in the middle of a bin.
  double center(size_t bin) const {
    return (static_cast<double>(bin) - static_cast<double>(kSide) + 0.5) * bin_width();
  }

 private:
  void count(std::span<const float> values);
  void reach(double magnitude);
  void double_reach();

  std::vector<uint64_t> bins_;  // of [-reach, reach)
  double reach_ = 0;
  uint64_t total_ = 0, zeros_ = 0;
  Range extremes_;
};

}  // namespace ec::quantize
