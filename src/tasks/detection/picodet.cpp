// Heads with scores and distributions of distances for each level: PicoDet and others that are
// trained with generalised focal loss.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/detection/grid.h"
#include "tasks/detection/head.h"

namespace ec::tasks::detection {
namespace {

struct PicoLevel {
  size_t scores = 0, distances = 0;  // outputs
  Level level;
};

// A distribution over 0, 1, ... for each of four sides; the distance is its mean.
float mean_distance(const Matrix& rows, size_t row, size_t side, size_t bins) {
  float most = rows.at(row, side * bins);
  for (size_t i = 1; i < bins; ++i) most = std::max(most, rows.at(row, side * bins + i));
  float sum = 0, weighted = 0;
  for (size_t i = 0; i < bins; ++i) {
    const float weight = std::exp(rows.at(row, side * bins + i) - most);
    sum += weight;
    weighted += weight * static_cast<float>(i);
  }
  return weighted / sum;
}

class PicoDetHead final : public Head {
 public:
  PicoDetHead(const HeadContext& context, std::vector<PicoLevel> levels)
      : levels_(std::move(levels)) {
    name_ = "PicoDet";
    classes_ = static_cast<int32_t>(context.outputs[levels_[0].scores].shape.back());
    logits_ = std::any_of(levels_.begin(), levels_.end(), [&](const PicoLevel& level) {
      return !is_unit(context.outputs[level.scores].values);
    });
    std::string strides;
    for (const PicoLevel& level : levels_)
      strides += fmt::format("{}{}", strides.empty() ? "" : ", ", level.level.stride);
    const int64_t columns = context.outputs[levels_[0].distances].shape.back();
    reason_ = fmt::format(
        "{} pairs of outputs with one row for each cell of strides {} of a {}x{} picture: {} "
        "scores{} and distributions of four distances in {} steps",
        levels_.size(), strides, context.interface.height, context.interface.width, classes_,
        logits_ ? " as logits" : "", columns / 4);
  }

  void decode(Tensors outputs, float least, Candidates& candidates) const override {
    size_t first = 0;  // row of the level, counted over all of them
    for (const PicoLevel& level : levels_) {
      const Matrix scores = *as_matrix(outputs[level.scores]);
      const Matrix distances = *as_matrix(outputs[level.distances]);
      for (size_t row = 0; row < scores.rows; ++row)
        for (size_t label = 0; label < scores.columns; ++label) {
          const float raw = scores.at(row, label);
          const float score = logits_ ? sigmoid(raw) : raw;
          if (!(score >= least)) continue;
          candidates.add({box_of(level.level, distances, row), score, static_cast<int32_t>(label),
                          -1, static_cast<int32_t>(first + row)});
        }
      first += scores.rows;
    }
  }

 private:
  static Box box_of(const Level& level, const Matrix& distances, size_t row) {
    const size_t bins = distances.columns / 4, columns = static_cast<size_t>(level.columns);
    const auto stride = static_cast<float>(level.stride);
    const float x = (static_cast<float>(row % columns) + 0.5f) * stride;
    const float y = (static_cast<float>(row / columns) + 0.5f) * stride;
    float side[4];
    for (size_t i = 0; i < 4; ++i) side[i] = stride * mean_distance(distances, row, i, bins);
    return {x - side[0], y - side[1], x + side[2], y + side[3]};
  }

  std::vector<PicoLevel> levels_;
  bool logits_ = false;
};

}  // namespace

HeadPtr recognise_picodet(const HeadContext& context) {
  const size_t count = context.outputs.size();
  if (count < 4 || count % 2 != 0) return nullptr;
  std::vector<PicoLevel> levels;
  std::vector<bool> used(count, false);
  for (size_t i = 0; i < count; ++i) {
    if (used[i]) continue;
    const std::optional<Matrix> first = as_matrix(context.outputs[i]);
    if (!first || context.outputs[i].rank() != 3) return nullptr;
    const std::optional<Level> level =
        level_with(context.interface.height, context.interface.width, first->rows);
    size_t other = i + 1;
    const auto pairs = [&](size_t k) {
      const std::optional<Matrix> second = as_matrix(context.outputs[k]);
      return !used[k] && second && context.outputs[k].rank() == 3 && second->rows == first->rows;
    };
    while (other < count && !pairs(other)) ++other;
    if (!level || other == count) return nullptr;
    used[i] = used[other] = true;
    levels.push_back({i, other, *level});
  }
  // Distributions are four times the same number of columns, and no probabilities.
  const auto columns = [&](size_t output) { return context.outputs[output].shape.back(); };
  const auto distances = [&](size_t output) {
    return columns(output) % 4 == 0 && columns(output) >= 8;
  };
  const bool swapped =
      !distances(levels[0].distances) ||
      (distances(levels[0].scores) && !is_unit(context.outputs[levels[0].scores].values) &&
       is_unit(context.outputs[levels[0].distances].values));
  for (PicoLevel& level : levels) {
    if (swapped) std::swap(level.scores, level.distances);
    if (!distances(level.distances) || columns(level.distances) != columns(levels[0].distances) ||
        columns(level.scores) != columns(levels[0].scores))
      return nullptr;
  }
  return std::make_unique<PicoDetHead>(context, std::move(levels));
}

}  // namespace ec::tasks::detection
