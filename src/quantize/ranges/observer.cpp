#include "quantize/ranges/observer.h"

#include <algorithm>
#include <string>

#include "quantize/ranges/range_search.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

// The extremes of all samples: nothing is ever cut off.
class MinMaxObserver final : public Observer {
 public:
  void observe(std::span<const float>, const Range& sample) override {
    range_ = seen_ ? hull(range_, sample) : sample;
    seen_ = true;
  }
  Range range() const override { return range_; }
  Range extremes() const override { return range_; }

 private:
  Range range_;
  bool seen_ = false;
};

// The extremes of each sample, averaged with more weight on later ones: a single odd sample widens
// the range a little instead of deciding it.
class MovingAverageObserver final : public Observer {
 public:
  void observe(std::span<const float>, const Range& sample) override {
    all_ = samples_ == 0 ? sample : hull(all_, sample);
    // The plain average at first, so that the first sample has no special weight.
    const double weight = std::max(tuning::kMovingAverage, 1.0 / static_cast<double>(++samples_));
    min_ += weight * (static_cast<double>(sample.min) - min_);
    max_ += weight * (static_cast<double>(sample.max) - max_);
  }
  Range range() const override { return {static_cast<float>(min_), static_cast<float>(max_)}; }
  Range extremes() const override { return all_; }

 private:
  double min_ = 0, max_ = 0;
  int64_t samples_ = 0;
  Range all_;
};

enum class Search : uint8_t { Percentile, LeastSquares, LeastDivergence, Several };

class HistogramObserver final : public Observer {
 public:
  HistogramObserver(Search search, double percentile) : search_(search), percentile_(percentile) {}
  void observe(std::span<const float> values, const Range& sample) override {
    histogram_.add(values, sample);
  }
  Range extremes() const override { return histogram_.extremes(); }

  Range range() const override {
    if (histogram_.empty()) return {};
    switch (search_) {
      case Search::Percentile:
        return percentile_range(histogram_, percentile_);
      case Search::LeastSquares:
        return least_squares_range(histogram_);
      case Search::LeastDivergence:
        return least_divergence_range(histogram_);
      case Search::Several:
        return histogram_.extremes();
    }
    return {};
  }
  std::vector<Range> candidates() const override {
    if (search_ != Search::Several || histogram_.empty()) return {range()};
    // From the widest to the narrowest, as far as that is known: a narrower one has to be better to
    // be chosen.
    return {histogram_.extremes(), percentile_range(histogram_, tuning::kPercentile),
            least_squares_range(histogram_),
            percentile_range(histogram_, tuning::kNarrowPercentile)};
  }

 private:
  Histogram histogram_;
  Search search_;
  double percentile_;
};

template <class T>
std::unique_ptr<Observer> make(const ObserverOptions&) {
  return std::make_unique<T>();
}
template <Search search>
std::unique_ptr<Observer> make_search(const ObserverOptions& options) {
  return std::make_unique<HistogramObserver>(search, options.percentile);
}

constexpr ObserverMethod kMethods[] = {
    {"auto", "for each tensor the range that gave the better outputs when tried",
     make_search<Search::Several>},
    {"minmax", "the smallest and the largest value of all samples", make<MinMaxObserver>},
    {"average", "the extremes of each sample, averaged", make<MovingAverageObserver>},
    {"percentile", "what holds a share of all values (--calibration-percentile)",
     make_search<Search::Percentile>},
    {"mse", "the least squared error expected from a histogram", make_search<Search::LeastSquares>},
    {"histogram", "as mse", make_search<Search::LeastSquares>},
    {"kl", "the least Kullback-Leibler divergence of a histogram",
     make_search<Search::LeastDivergence>},
};

}  // namespace

std::span<const ObserverMethod> all_observer_methods() { return kMethods; }

const ObserverMethod* find_observer_method(std::string_view name) {
  for (const ObserverMethod& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

std::string observer_method_names() {
  std::string names;
  for (const ObserverMethod& method : kMethods)
    names += (names.empty() ? "" : ", ") + std::string(method.name);
  return names;
}

}  // namespace ec::quantize
