#include "tasks/keypoints/keypoints_measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "tasks/values.h"

namespace ec::tasks::keypoints {
namespace {

// COCO's factor of falloff is twice 0.026 (eyes) to 0.107 (hips); one for all points here.
constexpr double kFalloff = 0.1;
// Points that the original network itself does not believe in are left out.
constexpr float kLeastScore = 0.2f;
constexpr size_t kLeastPoints = 5, kMostPoints = 600;

enum class Form : uint8_t {
  Coordinates,  // rows of two or three numbers
  Flat,         // the same in one row
  Maps,         // a map for each point
};

struct Point {
  double x = 0, y = 0;
  float score = 1;
};

struct Layout {
  Form form = Form::Coordinates;
  size_t columns = 2;          // of coordinates
  bool scored = false;         // the third column says how sure the point is
  bool channels_last = false;  // of maps
};

Point map_point(const Tensor& tensor, size_t point, bool channels_last) {
  const auto height = static_cast<size_t>(tensor.shape[channels_last ? 1 : 2]);
  const auto width = static_cast<size_t>(tensor.shape[channels_last ? 2 : 3]);
  const auto count = static_cast<size_t>(tensor.shape[channels_last ? 3 : 1]);
  const size_t first = channels_last ? point : point * height * width;
  const size_t step = channels_last ? count : 1;
  size_t best = 0;
  for (size_t i = 1; i < height * width; ++i)
    if (tensor.values[first + i * step] > tensor.values[first + best * step]) best = i;
  // Maps have scores of their own scale: every point counts.
  return {static_cast<double>(best % width), static_cast<double>(best / width), 1.0f};
}

std::vector<Point> points_of(const Tensor& tensor, const Layout& layout) {
  std::vector<Point> points;
  if (layout.form == Form::Maps) {
    const auto count = static_cast<size_t>(tensor.shape[layout.channels_last ? 3 : 1]);
    for (size_t p = 0; p < count; ++p) points.push_back(map_point(tensor, p, layout.channels_last));
    return points;
  }
  for (size_t p = 0; p + layout.columns <= tensor.values.size(); p += layout.columns)
    points.push_back(
        {tensor.values[p], tensor.values[p + 1], layout.scored ? tensor.values[p + 2] : 1.0f});
  return points;
}

class KeypointsMeasure final : public Measure {
 public:
  explicit KeypointsMeasure(Layout layout) : layout_(layout) {}

  void add(Tensors expected, Tensors got) override {
    std::vector<Point> e = points_of(expected[0], layout_), g = points_of(got[0], layout_);
    std::vector<size_t> counted;
    double left = 0, right = 0, top = 0, bottom = 0;
    for (size_t i = 0; i < e.size(); ++i) {
      if (!(e[i].score >= kLeastScore) || !std::isfinite(e[i].x) || !std::isfinite(e[i].y))
        continue;
      const bool first = counted.empty();
      left = first ? e[i].x : std::min(left, e[i].x);
      right = first ? e[i].x : std::max(right, e[i].x);
      top = first ? e[i].y : std::min(top, e[i].y);
      bottom = first ? e[i].y : std::max(bottom, e[i].y);
      counted.push_back(i);
    }
    // Points in a line have no area; the longer side stands for it.
    double size = (right - left) * (bottom - top);
    if (!(size > 0))
      size = std::max(right - left, bottom - top) * std::max(right - left, bottom - top);
    if (counted.empty() || !(size > 0)) return;
    double sum = 0;
    for (const size_t i : counted) {
      const double dx = e[i].x - g[i].x, dy = e[i].y - g[i].y;
      const double squared = dx * dx + dy * dy;
      if (!std::isfinite(squared)) continue;  // nowhere near
      sum += std::exp(-squared / (2 * size * kFalloff * kFalloff));
      distance_ += std::sqrt(squared / size);
    }
    similarity_ += sum / static_cast<double>(counted.size());
    points_ += static_cast<int64_t>(counted.size());
    ++samples_;
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    if (samples_ > 0)
      figures = {{"oks", "object keypoint similarity", *agreement(), false},
                 {"mean_distance", "mean distance, relative to the size of the object",
                  distance_ / static_cast<double>(points_), false}};
    figures.push_back({"points", "points compared", static_cast<double>(points_), true});
    return figures;
  }

  std::optional<double> agreement() const override {
    if (samples_ == 0) return std::nullopt;
    return similarity_ / static_cast<double>(samples_);
  }

 private:
  Layout layout_;
  double similarity_ = 0, distance_ = 0;
  int64_t points_ = 0, samples_ = 0;
};

// Columns of coordinates lie in the picture, in pixels or as fractions of it.
bool in_picture(const Interface& interface, const Matrix& rows) {
  if (interface.height <= 0) return false;
  const Span places = span_of(rows, 0, 2);
  const auto side = static_cast<float>(std::max(interface.height, interface.width));
  return places.within(-0.5f, 1.5f) || places.within(-0.5f * side, 1.5f * side);
}

}  // namespace

std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request) {
  const bool forced = request.task == Task::Keypoints;
  if (!forced && outputs.size() != 1) return std::nullopt;
  const Tensor& tensor = outputs[0];
  if (tensor.values.empty()) return std::nullopt;
  Layout layout;
  const std::optional<Matrix> rows = as_matrix(tensor);
  size_t count = 0;
  if (rows && tensor.rank() >= 3 && (rows->columns == 2 || rows->columns == 3) && rows->rows > 1) {
    if (!forced && (rows->rows < kLeastPoints || rows->rows > kMostPoints ||
                    !in_picture(interface, *rows) || rows_sum_to_one(*rows)))
      return std::nullopt;
    layout.columns = rows->columns;
    layout.scored = rows->columns == 3 && is_unit(span_of(*rows, 2, 3)) &&
                    span_of(*rows, 2, 3).most >= kLeastScore;
    count = rows->rows;
  } else if (forced && tensor.rank() == 4 && tensor.shape[0] == 1 && !rows) {
    layout.form = Form::Maps;
    layout.channels_last = tensor.shape[3] < tensor.shape[1];
    count = static_cast<size_t>(tensor.shape[layout.channels_last ? 3 : 1]);
  } else if (forced && tensor.values.size() >= 4) {
    layout.form = Form::Flat;
    layout.columns = tensor.values.size() % 3 == 0 ? 3 : 2;
    count = tensor.values.size() / layout.columns;
  } else {
    return std::nullopt;
  }
  constexpr std::string_view kForms[] = {"rows of coordinates", "coordinates in one row",
                                         "the largest value of each map"};
  Recognised found{Task::Keypoints, {}, {}, nullptr};
  found.reason = fmt::format(
      "output '{}' {}: {} points as {}{}", interface.outputs[0], shape_text(tensor.shape), count,
      kForms[static_cast<size_t>(layout.form)], layout.scored ? ", with scores" : "");
  found.measure = std::make_unique<KeypointsMeasure>(layout);
  return found;
}

}  // namespace ec::tasks::keypoints
