#include "backend/metal/flexible.h"

#include <algorithm>

namespace ec::metal {
namespace {

// How many times the elements of the default a run may have that is not asked for.
constexpr double kMostTimes = 4;

double elements_of(const GivenShapes& shapes) {
  double count = 0;
  for (const auto& [name, shape] : shapes) {
    double size = 1;
    for (const int64_t dim : shape) size *= static_cast<double>(dim);
    count += size;
  }
  return count;
}

}  // namespace

std::vector<CoremlFlexibleInput> open_features(const Graph& graph) {
  std::vector<CoremlFlexibleInput> features;
  for (FlexibleInput& input : flexible_inputs(graph)) {
    CoremlFlexibleInput& feature = features.emplace_back();
    feature.name = std::move(input.name);
    feature.shape = std::move(input.shape);
    feature.shapes = std::move(input.sizes.listed);
    for (const SizeRange& range : input.sizes.ranges)
      feature.ranges.push_back({range.low, range.high});
  }
  return features;
}

std::vector<GivenShapes> checked_shapes(const Graph& graph) {
  const std::vector<FlexibleInput> inputs = flexible_inputs(graph);
  if (inputs.empty()) return {};
  std::vector<GivenShapes> all = admitted_shapes(inputs);
  const double limit = kMostTimes * elements_of(all.front());
  std::vector<GivenShapes> checked{all.front()};
  // The smallest of the others first: it costs least.
  std::stable_sort(all.begin() + 1, all.end(), [](const GivenShapes& a, const GivenShapes& b) {
    return elements_of(a) < elements_of(b);
  });
  if (all.size() > 1) checked.push_back(all[1]);
  if (all.size() > 2 && elements_of(all.back()) <= limit) checked.push_back(all.back());
  return checked;
}

}  // namespace ec::metal
