#include "quantize/ranges/range_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

// Sums over all bins below an index, so that the error of a range takes constant time.
class Moments {
 public:
  explicit Moments(const Histogram& histogram) : histogram_(histogram) {
    const auto bins = histogram.bins();
    count_.resize(bins.size() + 1, 0.0);
    first_.resize(bins.size() + 1, 0.0);
    second_.resize(bins.size() + 1, 0.0);
    for (size_t i = 0; i < bins.size(); ++i) {
      const auto n = static_cast<double>(bins[i]);
      const double c = histogram.center(i);
      count_[i + 1] = count_[i] + n;
      first_[i + 1] = first_[i] + n * c;
      second_[i + 1] = second_[i] + n * c * c;
    }
  }

  double error(double low, double high, double levels) const {
    const size_t from = bin_of(low), to = bin_of(high);
    const double step = (high - low) / levels;
    const double inside =
        std::max(0.0, count_[to] - count_[from] - static_cast<double>(histogram_.zeros()));
    return clipped(0, from, low) + clipped(to, count_.size() - 1, high) +
           inside * step * step / 12.0;
  }

 private:
  // The first bin whose center is not below the value.
  size_t bin_of(double value) const {
    const double at = value / histogram_.bin_width() + static_cast<double>(Histogram::kSide);
    return static_cast<size_t>(
        std::clamp(std::ceil(at - 0.5), 0.0, static_cast<double>(count_.size() - 1)));
  }
  // Sum of (value - edge)^2 over bins [from, to).
  double clipped(size_t from, size_t to, double edge) const {
    const double n = count_[to] - count_[from], s = first_[to] - first_[from],
                 q = second_[to] - second_[from];
    return std::max(0.0, q - 2 * edge * s + edge * edge * n);
  }

  const Histogram& histogram_;
  std::vector<double> count_, first_, second_;
};

Range with_zero(const Range& range) {
  return {std::min(range.min, 0.0f), std::max(range.max, 0.0f)};
}

}  // namespace

Range percentile_range(const Histogram& histogram, double percent) {
  const Range all = histogram.extremes();
  const auto bins = histogram.bins();
  const double tail = static_cast<double>(histogram.total()) * (100.0 - percent) / 200.0;
  double below = 0, above = 0;
  size_t first = 0, last = bins.size();
  while (first < bins.size() && below + static_cast<double>(bins[first]) <= tail)
    below += static_cast<double>(bins[first++]);
  while (last > first && above + static_cast<double>(bins[last - 1]) <= tail)
    above += static_cast<double>(bins[--last]);
  const double half = histogram.bin_width() / 2;
  const auto low =
      first < bins.size() ? static_cast<float>(histogram.center(first) - half) : all.min;
  const auto high = last > 0 ? static_cast<float>(histogram.center(last - 1) + half) : all.max;
  return {std::max(all.min, low), std::min(all.max, std::max(low, high))};
}

double expected_error(const Histogram& histogram, const Range& range, double levels) {
  if (histogram.empty()) return 0;
  const Range used = with_zero(range);
  return Moments(histogram).error(static_cast<double>(used.min), static_cast<double>(used.max),
                                  levels) /
         static_cast<double>(histogram.total());
}

Range least_squares_range(const Histogram& histogram, double levels) {
  const Range all = with_zero(histogram.extremes());
  if (histogram.empty() || all.min == all.max) return all;
  const Moments moments(histogram);
  // Both ends shrink on their own, on a grid that is refined once around the best point.
  using tuning::kRangeGrid, tuning::kSmallestRange;
  double best = std::numeric_limits<double>::infinity();
  double low_share = 1, high_share = 1;
  const auto search = [&](double low_from, double low_to, double high_from, double high_to) {
    for (int i = 0; i <= kRangeGrid; ++i)
      for (int j = 0; j <= kRangeGrid; ++j) {
        const double l = low_to + (low_from - low_to) * i / kRangeGrid;
        const double h = high_to + (high_from - high_to) * j / kRangeGrid;
        const double error = moments.error(l * static_cast<double>(all.min),
                                           h * static_cast<double>(all.max), levels);
        if (error < best) {
          best = error;
          low_share = l;
          high_share = h;
        }
        if (all.max == 0.0f) break;
      }
  };
  search(kSmallestRange, 1, kSmallestRange, 1);
  const double step = (1 - kSmallestRange) / kRangeGrid;
  const auto around = [&](double share) {
    return std::pair{std::max(kSmallestRange, share - step), std::min(1.0, share + step)};
  };
  const auto [ll, lh] = around(low_share);
  const auto [hl, hh] = around(high_share);
  search(ll, lh, hl, hh);
  return {static_cast<float>(low_share * static_cast<double>(all.min)),
          static_cast<float>(high_share * static_cast<double>(all.max))};
}

Range least_divergence_range(const Histogram& histogram) {
  const Range all = with_zero(histogram.extremes());
  if (histogram.empty() || all.min == all.max) return all;
  // Magnitudes; values of one sign have all 256 levels for themselves.
  constexpr size_t kSide = Histogram::kSide;
  const auto bins = histogram.bins();
  std::vector<double> magnitudes(kSide, 0.0);
  for (size_t i = 0; i < kSide; ++i)
    magnitudes[i] = static_cast<double>(bins[kSide + i]) + static_cast<double>(bins[kSide - 1 - i]);
  magnitudes[0] = std::max(0.0, magnitudes[0] - static_cast<double>(histogram.zeros()));
  const bool two_sided = all.min < 0.0f && all.max > 0.0f;
  const size_t levels = two_sided ? 128 : 256;
  size_t used = kSide;
  while (used > levels && magnitudes[used - 1] == 0.0) --used;
  double outside = 0;
  double best = std::numeric_limits<double>::infinity();
  size_t best_bins = used;
  std::vector<double> suffix(kSide + 1, 0.0);
  for (size_t i = kSide; i-- > 0;) suffix[i] = suffix[i + 1] + magnitudes[i];
  const double total = suffix[0];
  if (total <= 0) return all;
  using tuning::kDivergenceStride;
  for (size_t n = used; n >= levels; n = n > kDivergenceStride ? n - kDivergenceStride : 0) {
    outside = suffix[n];
    double divergence = 0, represented = 0;
    // The representation spreads what falls on a level evenly over its bins that hold anything.
    const double covered = total - outside;
    if (covered <= 0) break;
    for (size_t level = 0; level < levels; ++level) {
      const size_t from = level * n / levels, to = (level + 1) * n / levels;
      double sum = 0;
      size_t filled = 0;
      for (size_t i = from; i < to; ++i) {
        sum += magnitudes[i];
        filled += magnitudes[i] > 0;
      }
      const double share = filled > 0 ? sum / static_cast<double>(filled) / covered : 0;
      for (size_t i = from; i < to; ++i) {
        // What is cut off ends up in the last bin, also where that held nothing before.
        const double p = (magnitudes[i] + (i + 1 == n ? outside : 0)) / total;
        if (p <= 0) continue;
        const double q = magnitudes[i] > 0 ? share : tuning::kUnseenProbability;
        divergence += p * std::log(p / q);
        represented += q;
      }
    }
    if (represented > 0 && divergence < best) {
      best = divergence;
      best_bins = n;
    }
    if (n < levels + kDivergenceStride) break;
  }
  const auto limit = static_cast<float>(static_cast<double>(best_bins) * histogram.bin_width());
  return {std::max(all.min, -limit), std::min(all.max, limit)};
}

}  // namespace ec::quantize
