// Observers watch one activation over all samples in bounded memory and say which range to
// quantise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/ranges/range.h"
#include "quantize/tuning.h"

namespace ec::quantize {

class Observer {
 public:
  virtual ~Observer() = default;
  // All elements of the tensor in one sample, with the smallest and the largest of them; called
  // once per sample that has any, in the order of the samples. The values are finite.
  virtual void observe(std::span<const float> values, const Range& sample) = 0;
  // The range to represent. Without values: {0, 0}.
  virtual Range range() const = 0;
  // The extremes of all samples.
  virtual Range extremes() const = 0;
  // Ranges worth trying instead, each the answer of another method; the first is range().
  virtual std::vector<Range> candidates() const { return {range()}; }
};

struct ObserverOptions {
  double percentile = tuning::kPercentile;
};

struct ObserverMethod {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Observer> (*make)(const ObserverOptions& options);
};

std::span<const ObserverMethod> all_observer_methods();  // the first is the default
const ObserverMethod* find_observer_method(std::string_view name);
std::string observer_method_names();  // "auto, minmax, ..."

}  // namespace ec::quantize
