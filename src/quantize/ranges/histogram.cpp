#include "quantize/ranges/histogram.h"

#include <array>
#include <cmath>
#include <type_traits>

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
  add(values, range_of(values, finite));
}

void Histogram::add(std::span<const float> values, const Range& range) {
  if (values.empty()) return;
  extremes_ = total_ == 0 ? range : hull(extremes_, range);
  total_ += values.size();
  reach(
      std::max(std::abs(static_cast<double>(range.min)), std::abs(static_cast<double>(range.max))));
  // So that the counts of a part fit 32 bits.
  constexpr size_t kPart = size_t{1} << 30;
  for (size_t from = 0; from < values.size(); from += kPart)
    count(values.subspan(from, std::min(kPart, values.size() - from)));
}

// Bins of a block first, which compilers turn into vector instructions, then the counts, in tables
// that take turns: neighbouring values often fall into one bin and would wait for each other.
void Histogram::count(std::span<const float> values) {
  constexpr size_t kBlock = 1024, kTables = 4;
  const auto per_unit = static_cast<float>(1.0 / bin_width());  // a power of two: exact
  // Clearing and adding up the tables takes as long as counting so many values.
  const size_t tables = values.size() > 2 * kSide ? kTables : 1;
  std::vector<uint32_t> counts(tables * 2 * kSide, 0);
  std::array<uint32_t*, kTables> middle;
  for (size_t t = 0; t < kTables; ++t) middle[t] = counts.data() + (t % tables) * 2 * kSide + kSide;
  std::array<int32_t, kBlock> bins;
  int32_t zeros = 0;
  const auto count_block = [&](const float* block, auto size) {
    for (size_t i = 0; i < size; ++i) {
      // The product is exact, and this is its floor.
      const float at = block[i] * per_unit;
      const auto whole = static_cast<int32_t>(at);
      bins[i] = whole - (at < static_cast<float>(whole) ? 1 : 0);
      zeros += block[i] == 0.0f ? 1 : 0;
    }
    for (size_t i = 0; i < size; ++i) ++middle[i % kTables][bins[i]];
  };
  size_t from = 0;
  for (; from + kBlock <= values.size(); from += kBlock)
    count_block(values.data() + from, std::integral_constant<size_t, kBlock>());
  count_block(values.data() + from, values.size() - from);
  for (size_t t = 0; t < tables; ++t)
    for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += counts[t * 2 * kSide + i];
  zeros_ += static_cast<uint64_t>(zeros);
}

}  // namespace ec::quantize
