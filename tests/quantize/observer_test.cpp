// Histograms and the ranges that are read off them.
#include "quantize/ranges/observer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quantize/ranges/range_search.h"
#include "support/random.h"

namespace ec::quantize {
namespace {

std::vector<float> normal_values(size_t count, double deviation = 1) {
  RandomState random(3);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int k = 0; k < 12; ++k) sum += random.uniform();
    values.push_back(static_cast<float>((sum - 6) * deviation));
  }
  return values;
}

TEST(Histogram, DoesNotDependOnTheOrderOfSamples) {
  const std::vector<float> small = normal_values(1000, 0.01), large = normal_values(1000, 50);
  Histogram a, b;
  a.add(small), a.add(large);
  b.add(large), b.add(small);
  EXPECT_EQ(a.extremes(), b.extremes());
  EXPECT_EQ(a.bin_width(), b.bin_width());
  EXPECT_TRUE(std::equal(a.bins().begin(), a.bins().end(), b.bins().begin()));
  uint64_t total = 0;
  for (const uint64_t n : a.bins()) total += n;
  EXPECT_EQ(total, 2000u);
}

TEST(Histogram, TakesValuesAtTheEdgeOfItsReach) {
  Histogram histogram;
  const float values[] = {0.99999994f, -0.99999994f, 0.0f, 1.0f, -1.0f, 1e-30f};
  histogram.add(values);
  EXPECT_EQ(histogram.total(), 6u);
  EXPECT_EQ(histogram.zeros(), 1u);
  Histogram zeros;
  const float nothing[] = {0.0f, 0.0f};
  zeros.add(nothing);
  EXPECT_EQ(least_squares_range(zeros), (Range{0, 0}));
  EXPECT_EQ(least_divergence_range(zeros), (Range{0, 0}));
}

// Large tensors are counted in several tables at once.
TEST(Histogram, CountsEveryValueOfALargeTensor) {
  std::vector<float> values = normal_values(30001);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = 0.0f;  // as behind a relu
  Histogram whole, parts;
  whole.add(values);
  for (size_t from = 0; from < values.size(); from += 100)
    parts.add(std::span(values).subspan(from, std::min<size_t>(100, values.size() - from)));
  EXPECT_EQ(whole.zeros(), 10001u);
  EXPECT_EQ(whole.zeros(), parts.zeros());
  EXPECT_TRUE(std::equal(whole.bins().begin(), whole.bins().end(), parts.bins().begin()));
  std::vector<uint64_t> expected(whole.bins().size(), 0);
  for (const float value : values)
    ++expected[static_cast<size_t>(std::floor(static_cast<double>(value) / whole.bin_width()) +
                                   static_cast<double>(Histogram::kSide))];
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), whole.bins().begin()));
}

// One value far from all others: everything but the extremes cuts it off.
TEST(RangeSearch, CutsOffAnOutlier) {
  std::vector<float> values = normal_values(100000);
  values.push_back(1000.0f);
  Histogram histogram;
  histogram.add(values);
  EXPECT_EQ(histogram.extremes().max, 1000.0f);
  EXPECT_LT(percentile_range(histogram, 99.99).max, 10.0f);
  EXPECT_LT(least_divergence_range(histogram).max, 50.0f);
  const Range best = least_squares_range(histogram);
  EXPECT_LT(expected_error(histogram, best), expected_error(histogram, histogram.extremes()));
}

TEST(RangeSearch, LeastSquaresBeatsOtherRanges) {
  Histogram histogram;
  histogram.add(normal_values(200000));
  const Range best = least_squares_range(histogram);
  const double error = expected_error(histogram, best);
  for (const double scale : {0.5, 0.7, 0.85, 1.15, 1.3, 2.0}) {
    const Range other{static_cast<float>(best.min * scale), static_cast<float>(best.max * scale)};
    EXPECT_LE(error, expected_error(histogram, other) * 1.001) << scale;
  }
}

// The error that is computed from moments is the one that rounding makes.
TEST(RangeSearch, ExpectedErrorIsTheMeasuredOne) {
  const std::vector<float> values = normal_values(50000);
  Histogram histogram;
  histogram.add(values);
  const Range range{-2.5f, 3.0f};
  const double step = 5.5 / 255;
  double measured = 0;
  for (const float value : values) {
    const double steps = std::round(std::clamp(static_cast<double>(value), -2.5, 3.0) / step);
    const double difference = steps * step - static_cast<double>(value);
    measured += difference * difference / static_cast<double>(values.size());
  }
  EXPECT_NEAR(expected_error(histogram, range) / measured, 1.0, 0.05);
}

// What is cut off lands in the last bin, which may have been empty: that is a loss, not a gain.
TEST(RangeSearch, LeastDivergenceKeepsValuesBeyondAGap) {
  std::vector<float> values(10000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 100 == 0 ? 8.0f : static_cast<float>(i) / static_cast<float>(values.size());
  Histogram histogram;
  histogram.add(values, {0.0f, 8.0f});
  EXPECT_GE(least_divergence_range(histogram).max, 7.9f);
}

TEST(RangeSearch, PercentileHoldsItsShare) {
  Histogram histogram;
  std::vector<float> values;
  for (int i = 0; i <= 10000; ++i) values.push_back(static_cast<float>(i));
  histogram.add(values);
  const Range range = percentile_range(histogram, 90);
  EXPECT_NEAR(range.min, 500, 10);
  EXPECT_NEAR(range.max, 9500, 10);
  EXPECT_EQ(percentile_range(histogram, 100), (Range{0, 10000}));
}

TEST(Observer, AutomaticMethodOffersCandidates) {
  const auto observer = find_observer_method("auto")->make({});
  std::vector<float> values = normal_values(100000);
  values[0] = 100;
  bool finite = true;
  observer->observe(values, range_of(values, finite));
  const std::vector<Range> candidates = observer->candidates();
  ASSERT_GE(candidates.size(), 3u);
  EXPECT_EQ(candidates[0], observer->extremes());
  EXPECT_LT(candidates.back().max, 10.0f);
}

}  // namespace
}  // namespace ec::quantize
