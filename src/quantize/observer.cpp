#include "quantize/observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ec::quantize {
namespace {

// The extremes of all samples: nothing is ever cut off.
class MinMaxObserver final : public Observer {
 public:
  void observe(std::span<const float> values) override {
    if (values.empty()) return;
    bool finite = true;
    const Range sample = range_of(values, finite);
    range_ =
        seen_ ? Range{std::min(range_.min, sample.min), std::max(range_.max, sample.max)} : sample;
    seen_ = true;
  }
  Range range() const override { return range_; }

 private:
  Range range_;
  bool seen_ = false;
};

// The extremes of each sample, averaged with more weight on later ones: a single odd sample widens
// the range a little instead of deciding it.
class MovingAverageObserver final : public Observer {
 public:
  void observe(std::span<const float> values) override {
    if (values.empty()) return;
    bool finite = true;
    const Range sample = range_of(values, finite);
    // The plain average at first, so that the first sample has no special weight.
    const double weight = std::max(kWeight, 1.0 / static_cast<double>(++samples_));
    min_ += weight * (static_cast<double>(sample.min) - min_);
    max_ += weight * (static_cast<double>(sample.max) - max_);
  }
  Range range() const override { return {static_cast<float>(min_), static_cast<float>(max_)}; }

 private:
  static constexpr double kWeight = 0.01;
  double min_ = 0, max_ = 0;
  int64_t samples_ = 0;
};

template <class T>
std::unique_ptr<Observer> make() {
  return std::make_unique<T>();
}

constexpr ObserverMethod kMethods[] = {
    {"minmax", "the smallest and the largest value of all samples", make<MinMaxObserver>},
    {"average", "the extremes of each sample, averaged", make<MovingAverageObserver>},
};

}  // namespace

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

std::span<const ObserverMethod> all_observer_methods() { return kMethods; }

const ObserverMethod* find_observer_method(std::string_view name) {
  for (const ObserverMethod& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

}  // namespace ec::quantize
