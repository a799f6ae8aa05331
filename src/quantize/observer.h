// Observers watch one activation over all samples in bounded memory and say which range to
// quantise.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace ec::quantize {

struct Range {
  float min = 0, max = 0;
  bool operator==(const Range&) const = default;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // All elements of the tensor in one sample; called once per sample, in the order of the samples.
  // The values are finite.
  virtual void observe(std::span<const float> values) = 0;
  // The range to represent. Without values: {0, 0}.
  virtual Range range() const = 0;
};

struct ObserverMethod {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Observer> (*make)();
};

std::span<const ObserverMethod> all_observer_methods();  // the first is the default
const ObserverMethod* find_observer_method(std::string_view name);

// Smallest and largest element; `finite` becomes false where one is infinite or not a number.
Range range_of(std::span<const float> values, bool& finite);

}  // namespace ec::quantize
