#include "tasks/segmentation/segmentation_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tasks/values.h"

namespace ec::tasks::segmentation {
namespace {

constexpr double kThreshold = 0.5;
constexpr int64_t kLeastSide = 8;
// Numbers of classes above this are no numbers of classes.
constexpr float kMostClass = 65535;

enum class Reading : uint8_t {
  Largest,   // the class with the largest value at each pixel
  Above,     // each channel is a mask of what lies above the threshold
  Numbered,  // pixels hold the number of their class
};

// Channels and pixels of a map.
struct Plane {
  size_t channels = 1, pixels = 0;
  bool channels_last = false;
  int64_t height = 0, width = 0;

  size_t at(size_t channel, size_t pixel) const {
    return channels_last ? pixel * channels + channel : channel * pixels + pixel;
  }
};

std::optional<Plane> plane_of(std::span<const int64_t> shape, const Interface& interface) {
  const auto plane = [](int64_t channels, int64_t height, int64_t width, bool last) {
    return Plane{static_cast<size_t>(channels), static_cast<size_t>(height * width), last, height,
                 width};
  };
  if (shape.size() < 3 || shape[0] != 1) return std::nullopt;
  std::optional<Plane> found;
  if (shape.size() == 3) found = plane(1, shape[1], shape[2], false);
  if (shape.size() == 4) {
    // The sides of the map are those of the picture, in their proportion; else channels are fewer.
    const auto fits = [&](int64_t height, int64_t width) {
      return interface.height > 0 && height * interface.width == width * interface.height;
    };
    const bool first = fits(shape[2], shape[3]), last = fits(shape[1], shape[2]);
    const bool channels_last = first == last ? shape[3] < shape[1] : last;
    found = channels_last ? plane(shape[3], shape[1], shape[2], true)
                          : plane(shape[1], shape[2], shape[3], false);
  }
  if (!found || found->height < kLeastSide || found->width < kLeastSide) return std::nullopt;
  return found;
}

// Intersection and union of the masks of one class.
struct Overlap {
  int64_t common = 0, expected = 0, got = 0;
};

class SegmentationMeasure final : public Measure {
 public:
  SegmentationMeasure(const Interface& interface, Reading reading, float threshold)
      : interface_(interface), reading_(reading), threshold_(threshold) {}

  void add(Tensors expected, Tensors got) override {
    const std::optional<Plane> plane = plane_of(expected[0].shape, interface_);
    if (!plane) return;
    const auto e = expected[0].values, g = got[0].values;
    for (size_t pixel = 0; pixel < plane->pixels; ++pixel) {
      if (reading_ == Reading::Above) {
        bool same = true;
        for (size_t c = 0; c < plane->channels; ++c)
          same &= count(static_cast<int32_t>(c), e[plane->at(c, pixel)] >= threshold_,
                        g[plane->at(c, pixel)] >= threshold_);
        same_ += same ? 1 : 0;
      } else {
        const int32_t a = class_at(*plane, e, pixel), b = class_at(*plane, g, pixel);
        count(a, true, a == b);
        if (a != b) count(b, false, true);
        same_ += a == b ? 1 : 0;
      }
      ++pixels_;
    }
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    if (const std::optional<double> mean = agreement())
      figures.push_back(
          {"mean_iou",
           reading_ == Reading::Above ? "mean IoU of the masks" : "mean IoU of the classes", *mean,
           false});
    if (pixels_ > 0)
      figures.push_back({"pixel_agreement", "share of equal pixels",
                         static_cast<double>(same_) / static_cast<double>(pixels_), false});
    figures.push_back(
        {"classes", "classes that the reference finds", static_cast<double>(occurring()), true});
    return figures;
  }

  std::optional<double> agreement() const override {
    const int64_t classes = occurring();
    if (classes == 0) return std::nullopt;
    double sum = 0;
    for (const auto& [label, overlap] : overlaps_)
      if (overlap.expected > 0)
        sum += static_cast<double>(overlap.common) /
               static_cast<double>(overlap.expected + overlap.got - overlap.common);
    return sum / static_cast<double>(classes);
  }

 private:
  bool count(int32_t label, bool expected, bool got) {
    if (expected || got) {
      Overlap& overlap = overlaps_[label];
      overlap.common += expected && got;
      overlap.expected += expected;
      overlap.got += got;
    }
    return expected == got;
  }

  int32_t class_at(const Plane& plane, std::span<const float> values, size_t pixel) const {
    if (reading_ == Reading::Numbered) {
      const float value = std::nearbyint(values[pixel]);
      return value >= 0 && value <= kMostClass ? static_cast<int32_t>(value) : -1;
    }
    size_t best = 0;
    for (size_t c = 1; c < plane.channels; ++c)
      if (values[plane.at(c, pixel)] > values[plane.at(best, pixel)]) best = c;
    return static_cast<int32_t>(best);
  }

  int64_t occurring() const {
    return std::count_if(overlaps_.begin(), overlaps_.end(),
                         [](const auto& entry) { return entry.second.expected > 0; });
  }

  Interface interface_;
  Reading reading_;
  float threshold_;
  std::map<int32_t, Overlap> overlaps_;
  int64_t pixels_ = 0, same_ = 0;
};

bool pixels_sum_to_one(const Tensor& tensor, const Plane& plane) {
  const Matrix pixels =
      plane.channels_last
          ? Matrix{tensor.values.data(), plane.pixels, plane.channels, plane.channels, 1}
          : Matrix{tensor.values.data(), plane.pixels, plane.channels, 1, plane.pixels};
  return rows_sum_to_one(pixels);
}

// Probabilities of a mask are mostly sure; depth and brightness are spread.
bool is_decided(std::span<const float> values) {
  const auto sure =
      std::count_if(values.begin(), values.end(), [](float v) { return v < 0.1f || v > 0.9f; });
  return static_cast<double>(sure) > 0.7 * static_cast<double>(values.size());
}

struct Form {
  Reading reading = Reading::Largest;
  bool logits = false;
  std::string_view why;
};

std::optional<Form> form_of(const Tensor& tensor, const Plane& plane, const Interface& interface,
                            bool forced) {
  const Span span = span_of(tensor.values);
  if (plane.channels == 1) {
    if (are_integers(tensor.values) && span.most > 1)
      return Form{Reading::Numbered, false, "pixels are numbers of classes"};
    if (is_unit(span) && (forced || is_decided(tensor.values)))
      return Form{Reading::Above, false, "pixels are probabilities of a mask"};
    if (span.least < 0 && span.most > 0)
      return Form{Reading::Above, true, "pixels are logits of a mask"};
    if (forced) return Form{Reading::Above, false, "pixels are compared with the threshold"};
    return std::nullopt;
  }
  if (pixels_sum_to_one(tensor, plane))
    return Form{Reading::Largest, false, "pixels are distributions over classes"};
  if (is_unit(span) && (forced || is_decided(tensor.values)))
    return Form{Reading::Above, false, "channels are probabilities of masks"};
  // Pictures have three channels, too.
  const bool picture =
      plane.channels == 3 && interface.height > 0 && plane.height >= interface.height;
  if (picture && !forced) return std::nullopt;
  return Form{Reading::Largest, false, "pixels have a score for each class"};
}

}  // namespace

std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request) {
  const bool forced = request.task == Task::Segmentation;
  // Networks with several outputs of one form give the same map at several depths.
  for (const Tensor& output : outputs)
    if (!forced && !std::equal(output.shape.begin(), output.shape.end(), outputs[0].shape.begin(),
                               outputs[0].shape.end()))
      return std::nullopt;
  const std::optional<Plane> plane = plane_of(outputs[0].shape, interface);
  if (!plane || outputs[0].values.empty()) return std::nullopt;
  const std::optional<Form> form = form_of(outputs[0], *plane, interface, forced);
  if (!form) return std::nullopt;
  const double share = request.threshold.value_or(kThreshold);
  const double threshold = form->logits ? std::log(share / (1 - share)) : share;
  Recognised found{Task::Segmentation, {}, {}, nullptr};
  found.reason =
      fmt::format("output '{}' {}: {}x{} pixels, {} {}; {}", interface.outputs[0],
                  shape_text(outputs[0].shape), plane->height, plane->width, plane->channels,
                  plane->channels == 1 ? "channel" : "channels", form->why);
  if (form->reading == Reading::Above) found.reason += fmt::format(" above {:g}", share);
  if (outputs.size() > 1) found.reason += "; the first output counts";
  found.measure = std::make_unique<SegmentationMeasure>(interface, form->reading,
                                                        static_cast<float>(threshold));
  return found;
}

}  // namespace ec::tasks::segmentation
