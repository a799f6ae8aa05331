#include "ops/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "support/budget.h"

namespace ec {
namespace {

// Position in the input that output element o stands for.
double source_position(CoordinateMode mode, const ResizeAxis& a, int64_t o) {
  const auto x = static_cast<double>(o);
  const auto input = static_cast<double>(a.input), output = static_cast<double>(a.output);
  // Scales may ask for a size that is not whole: the corners of that size are aligned.
  const double width = a.scale * input;
  switch (mode) {
    case CoordinateMode::HalfPixel:
      return (x + 0.5) / a.scale - 0.5;
    case CoordinateMode::PytorchHalfPixel:
      return a.output > 1 ? (x + 0.5) / a.scale - 0.5 : 0.0;
    case CoordinateMode::AlignCorners:
      return width <= 1.0 ? 0.0 : x * (input - 1.0) / (width - 1.0);
    case CoordinateMode::Asymmetric:
      return x / a.scale;
    case CoordinateMode::HalfPixelSymmetric:
      return input / 2.0 * (1.0 - output / width) + (x + 0.5) / a.scale - 0.5;
    case CoordinateMode::CropAndResize: {
      const double span = (a.roi_end - a.roi_begin) * (input - 1.0);
      const double start = a.roi_begin * (input - 1.0);
      return a.output > 1 ? start + x * span / (output - 1.0) : start + span / 2.0;
    }
  }
  return 0.0;
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
  return 0.0;
}

// Which of base (fraction from the left in (0, 1]) and base + 1 is nearest.
int64_t nearest_index(NearestMode mode, int64_t base, double fraction) {
  switch (mode) {
    case NearestMode::RoundPreferFloor:
      return fraction <= 0.5 ? base : base + 1;
    case NearestMode::RoundPreferCeil:
      return fraction < 0.5 ? base : base + 1;
    case NearestMode::Floor:
      return fraction < 1.0 ? base : base + 1;
    case NearestMode::Ceil:
      return base + 1;
  }
  return base;
}

void normalize(std::span<double> weights) {
  double sum = 0.0;
  for (const double w : weights) sum += w;
  if (sum == 0.0) return;
  for (double& w : weights) w /= sum;
}

// Width of the filter in input elements on each side, and its stretch when it averages.
struct Filter {
  int64_t first = 0;  // offset of the first tap from base
  int64_t count = 1;
  double stretch = 1.0;
};

Filter make_filter(const ResizeAttrs& attrs, double scale) {
  if (attrs.mode == ResizeMode::Nearest) return {};
  const double radius = attrs.mode == ResizeMode::Cubic ? 2.0 : 1.0;
  const double stretch = attrs.antialias && scale < 1.0 ? scale : 1.0;
  // An image of nothing has a scale of 0: a filter without end.
  constexpr double kLongest = int64_t{1} << 40;
  const auto first = static_cast<int64_t>(std::max(std::floor(-radius / stretch), -kLongest)) + 1;
  return {first, 2 - 2 * first, stretch};
}

}  // namespace

bool has_small_taps(const ResizeAttrs& attrs, const ResizeAxis& axis) {
  constexpr int64_t kMost = int64_t{1} << 21;
  if (axis.output <= 0) return true;
  return axis.output <= kMost && make_filter(attrs, axis.scale).count <= kMost / axis.output;
}

ResizeTaps resize_taps(const ResizeAttrs& attrs, const ResizeAxis& axis) {
  const Filter filter = make_filter(attrs, axis.scale);
  const auto last = static_cast<double>(axis.input - 1);
  ResizeTaps taps;
  taps.per_output = filter.count;
  taps.index.resize(static_cast<size_t>(axis.output * filter.count), 0);
  taps.weight.resize(taps.index.size(), 1.0);
  Ticker ticker;
  for (int64_t o = 0; o < axis.output; ++o) {
    if (ticker.tick(8 * taps.per_output)) break;
    double x = source_position(attrs.coordinates, axis, o);
    // Scales are single precision: 3 / 0.3f is meant to be element 10, not 9.9999996.
    if (attrs.mode == ResizeMode::Nearest) x = double{static_cast<float>(x)};
    if (attrs.coordinates == CoordinateMode::CropAndResize && !(x >= 0.0 && x <= last)) {
      taps.outside.resize(static_cast<size_t>(axis.output), 0);
      taps.outside[static_cast<size_t>(o)] = 1;
      continue;
    }
    // The element on the left: a position on an element has fraction 1 from the one before it.
    const auto base = static_cast<int64_t>(std::ceil(x)) - 1;
    const double fraction = x - static_cast<double>(base);
    const auto index =
        std::span(taps.index)
            .subspan(static_cast<size_t>(o * filter.count), static_cast<size_t>(filter.count));
    const auto weight =
        std::span(taps.weight)
            .subspan(static_cast<size_t>(o * filter.count), static_cast<size_t>(filter.count));
    if (attrs.mode == ResizeMode::Nearest) {
      index[0] =
          std::clamp<int64_t>(nearest_index(attrs.nearest, base, fraction), 0, axis.input - 1);
      continue;
    }
    for (int64_t i = 0; i < filter.count; ++i) {
      const int64_t at = base + filter.first + i;
      const double distance = (static_cast<double>(filter.first + i) - fraction) * filter.stretch;
      double w = attrs.mode == ResizeMode::Cubic ? cubic_weight(distance, double{attrs.cubic_a})
                                                 : std::max(1.0 - std::abs(distance), 0.0);
      if (attrs.exclude_outside && (at < 0 || at >= axis.input)) w = 0.0;
      weight[static_cast<size_t>(i)] = w;
      index[static_cast<size_t>(i)] = std::clamp<int64_t>(at, 0, axis.input - 1);
    }
    if (attrs.antialias || attrs.exclude_outside) normalize(weight);
  }
  return taps;
}

std::vector<ResizeAxis> resize_axes(const ResizeAttrs& attrs, std::span<const int64_t> input,
                                    std::span<const int64_t> output, const ConstView* roi,
                                    const ConstView* scales, const ConstView* sizes) {
  std::vector<ResizeAxis> axes(input.size());
  for (size_t d = 0; d < axes.size(); ++d) axes[d] = {input[d], output[d], 1.0, 0.0, 1.0};
  const size_t count = attrs.axes.empty() ? input.size() : attrs.axes.size();
  const auto axis_at = [&](size_t i) -> ResizeAxis& {
    if (attrs.axes.empty()) return axes[i];
    const int64_t axis = attrs.axes[i];
    return axes[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(input.size()) : axis)];
  };
  std::vector<double> values(count * 2);
  if (scales != nullptr) {
    load<double>(*scales, std::span(values).first(count));
    for (size_t i = 0; i < count; ++i) axis_at(i).scale = values[i];
  } else if (sizes != nullptr) {
    load<double>(*sizes, std::span(values).first(count));
    for (size_t i = 0; i < count; ++i)
      axis_at(i).scale = values[i] / static_cast<double>(axis_at(i).input);
    if (attrs.aspect != AspectPolicy::Stretch) {
      // One scale for all axes: the smallest or the largest that the sizes ask for.
      double scale = axis_at(0).scale;
      for (size_t i = 1; i < count; ++i)
        scale = attrs.aspect == AspectPolicy::NotLarger ? std::min(scale, axis_at(i).scale)
                                                        : std::max(scale, axis_at(i).scale);
      for (size_t i = 0; i < count; ++i) axis_at(i).scale = scale;
    }
  }
  if (roi != nullptr && static_cast<size_t>(roi->count()) == 2 * count) {
    load<double>(*roi, values);
    for (size_t i = 0; i < count; ++i) {
      axis_at(i).roi_begin = values[i];
      axis_at(i).roi_end = values[count + i];
    }
  }
  return axes;
}

}  // namespace ec
