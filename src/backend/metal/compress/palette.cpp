#include "backend/metal/compress/palette.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/budget.h"
#include "support/small_float.h"

namespace ec::metal {
namespace {

// Groups of neighbouring weights that the search does not cut; their positions fit 16 bits.
constexpr size_t kMostGroups = 1 << 16;

// Different weights in ascending order with their numbers.
struct Points {
  std::vector<double> values, counts;
  size_t size() const { return values.size(); }
};

Points points_of_halves(std::span<const float> weights) {
  std::vector<uint32_t> counts(1 << 16);
  for (const float weight : weights) ++counts[float_to_half(weight)];
  // Both zeros are one point.
  counts[0] += counts[0x8000];
  counts[0x8000] = 0;
  Points points;
  const auto add = [&](uint32_t bits) {
    if (counts[bits] == 0) return;
    points.values.push_back(double{half_to_float(static_cast<uint16_t>(bits))});
    points.counts.push_back(counts[bits]);
  };
  for (uint32_t bits = 0xffff; bits > 0x8000; --bits) add(bits);
  for (uint32_t bits = 0; bits < 0x8000; ++bits) add(bits);
  return points;
}

Points points_of_singles(std::span<const float> weights) {
  std::vector<float> sorted(weights.begin(), weights.end());
  std::ranges::sort(sorted);
  Points points;
  for (const float value : sorted) {
    if (points.values.empty() || points.values.back() != double{value}) {
      points.values.push_back(double{value});
      points.counts.push_back(0);
    }
    ++points.counts.back();
  }
  return points;
}

// Sums over the first groups: how many weights, their sum and the sum of their squares. All are
// taken from the mean, which keeps the differences of sums precise.
struct Sums {
  std::vector<double> count{0}, sum{0}, squares{0};

  size_t groups() const { return count.size() - 1; }
  void add(double number, double value) {
    count.back() += number;
    sum.back() += number * value;
    squares.back() += number * value * value;
  }
  void next() {
    count.push_back(count.back());
    sum.push_back(sum.back());
    squares.push_back(squares.back());
  }
  // The squared error of the groups [begin, end) around their mean.
  double cost(size_t begin, size_t end) const {
    const double s = sum[end] - sum[begin];
    return squares[end] - squares[begin] - s * s / (count[end] - count[begin]);
  }
};

double mean_of(const Points& points) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    sum += points.values[i] * points.counts[i];
    count += points.counts[i];
  }
  return sum / count;
}

// Where each group ends among the points: each point is one, or each step of the range.
std::vector<size_t> group_ends(const Points& points) {
  std::vector<size_t> ends;
  const double low = points.values.front(), range = points.values.back() - low;
  const bool all = points.size() <= kMostGroups;
  const auto step_of = [&](size_t i) {
    return std::min(kMostGroups - 1, static_cast<size_t>((points.values[i] - low) / range *
                                                         static_cast<double>(kMostGroups)));
  };
  for (size_t i = 1; i <= points.size(); ++i)
    if (i == points.size() || all || step_of(i) != step_of(i - 1)) ends.push_back(i);
  return ends;
}

Sums sums_of(const Points& points, const std::vector<size_t>& ends) {
  const double mean = mean_of(points);
  Sums sums;
  size_t i = 0;
  for (const size_t end : ends) {
    sums.next();
    for (; i < end; ++i) sums.add(points.counts[i], points.values[i] - mean);
  }
  return sums;
}

// The best cuts of all groups into clusters, by dynamic programming: the best cut of the first j
// groups into m clusters ends with the cluster [i, j), behind the best cut of the first i groups
// into m - 1. The best i never falls when j rises, so that halves of a range need only look at
// their part of the candidates.
class BestCuts {
 public:
  BestCuts(const Sums& sums, size_t clusters) : sums_(sums), clusters_(clusters) {}

  // The ends of the clusters.
  Result<std::vector<size_t>> find() {
    const size_t n = sums_.groups();
    least_.resize(n + 1);
    for (size_t j = 1; j <= n; ++j) least_[j] = sums_.cost(0, j);
    begins_.assign(clusters_, std::vector<uint16_t>(n + 1));
    for (size_t m = 1; m < clusters_; ++m) {
      next_.assign(n + 1, std::numeric_limits<double>::infinity());
      add_cluster(m, m + 1, n + 1, m, n);
      EC_CHECK_OK(check_budget());
      std::swap(least_, next_);
    }
    std::vector<size_t> ends(clusters_);
    size_t end = n;
    for (size_t m = clusters_; m-- > 0;) {
      ends[m] = end;
      end = begins_[m][end];
    }
    return ends;
  }

 private:
  // Fills the row m for ends in [from, to), whose last clusters begin within [low, high].
  void add_cluster(size_t m, size_t from, size_t to, size_t low, size_t high) {
    if (from >= to) return;
    const size_t middle = from + (to - from) / 2, last = std::min(high, middle - 1);
    double best = std::numeric_limits<double>::infinity();
    size_t at = low;
    for (size_t i = low; i <= last; ++i) {
      const double error = least_[i] + sums_.cost(i, middle);
      if (error < best) {
        best = error;
        at = i;
      }
    }
    next_[middle] = best;
    begins_[m][middle] = static_cast<uint16_t>(at);
    if (ticker_.tick(static_cast<int64_t>(last + 1 - low))) return;
    add_cluster(m, from, middle, low, at);
    add_cluster(m, middle + 1, to, at, high);
  }

  const Sums& sums_;
  const size_t clusters_;
  std::vector<double> least_, next_;           // error of the first j groups
  std::vector<std::vector<uint16_t>> begins_;  // of the last cluster, for each number of them
  Ticker ticker_;
};

// --- the table -----------------------------------------------------------------------------------

double rounded(double value, bool half) {
  const auto single = static_cast<float>(value);
  return double{half ? half_to_float(float_to_half(single)) : single};
}

// The means of clusters that end at `ends`, as numbers of the table's type.
std::vector<double> means(const Points& points, const std::vector<size_t>& ends, bool half) {
  std::vector<double> table;
  size_t i = 0;
  for (const size_t end : ends) {
    double sum = 0, count = 0;
    for (; i < end; ++i) {
      sum += points.values[i] * points.counts[i];
      count += points.counts[i];
    }
    if (count > 0) table.push_back(rounded(sum / count, half));
  }
  table.erase(std::unique(table.begin(), table.end()), table.end());
  return table;
}

// Where the points nearest to each entry end.
std::vector<size_t> nearest(const Points& points, const std::vector<double>& table) {
  std::vector<size_t> ends;
  for (size_t e = 0; e + 1 < table.size(); ++e) {
    const double border = table[e] + (table[e + 1] - table[e]) / 2;
    ends.push_back(static_cast<size_t>(std::ranges::upper_bound(points.values, border) -
                                       points.values.begin()));
  }
  ends.push_back(points.size());
  return ends;
}

double error_of(const Points& points, const std::vector<double>& table,
                const std::vector<size_t>& ends) {
  double error = 0;
  size_t i = 0;
  for (size_t e = 0; e < table.size(); ++e)
    for (; i < ends[e]; ++i)
      error += points.counts[i] * (points.values[i] - table[e]) * (points.values[i] - table[e]);
  return error;
}

// Means and borders in turn, for what rounding the table and cutting between groups has left.
std::vector<double> polished(const Points& points, std::vector<double> table, bool half) {
  constexpr int kMostRounds = 50;
  std::vector<size_t> ends = nearest(points, table);
  double error = error_of(points, table, ends);
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<double> other = means(points, ends, half);
    std::vector<size_t> borders = nearest(points, other);
    const double left = error_of(points, other, borders);
    if (!(left < error)) break;
    error = left;
    table = std::move(other);
    ends = std::move(borders);
  }
  return table;
}

}  // namespace

Result<Palette> palettize(std::span<const float> weights, size_t entries, bool half) {
  const Points points = half ? points_of_halves(weights) : points_of_singles(weights);
  std::vector<size_t> ends = group_ends(points);
  if (ends.size() > entries) {
    const Sums sums = sums_of(points, ends);
    EC_TRY(const std::vector<size_t> cuts, BestCuts(sums, entries).find());
    std::vector<size_t> clusters;
    for (const size_t cut : cuts) clusters.push_back(ends[cut - 1]);
    ends = std::move(clusters);
  }
  const std::vector<double> table = polished(points, means(points, ends, half), half);
  Palette palette;
  for (const double value : table) palette.table.push_back(static_cast<float>(value));
  // The index of every weight, by the last point of each entry.
  const std::vector<size_t> last = nearest(points, table);
  std::vector<float> borders;
  for (size_t e = 0; e + 1 < table.size(); ++e)
    borders.push_back(last[e] == 0 ? -std::numeric_limits<float>::infinity()
                                   : static_cast<float>(points.values[last[e] - 1]));
  palette.indices.reserve(weights.size());
  for (const float weight : weights) {
    const float value = half ? half_to_float(float_to_half(weight)) : weight;
    palette.indices.push_back(
        static_cast<uint8_t>(std::ranges::lower_bound(borders, value) - borders.begin()));
  }
  return palette;
}

}  // namespace ec::metal
