// YOLO heads with one row for each cell: four columns of the box, objectness in some, class scores.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/detection/grid.h"
#include "tasks/detection/head.h"

namespace ec::tasks::detection {
namespace {

// Above this, columns of places follow their cells.
constexpr double kPlaced = 0.5;
// Boxes that reach beyond this are no fractions of the picture.
constexpr float kMostFraction = 2.0f;
// exp() of a hostile size stays finite.
constexpr float kMostExponent = 30.0f;
constexpr size_t kBoxColumns = 4;

enum class Places : uint8_t { Pixels, Fractions, Cells };

// The output that holds the rows.
struct Rows {
  size_t output = 0;
  bool transposed = false;  // [1,K,N]
  Matrix matrix;
  std::optional<Grid> grid;
  size_t masks = 0;  // columns of mask coefficients behind the scores
};

Matrix oriented(const Tensor& tensor, bool transpose) {
  const Matrix matrix = *as_matrix(tensor);
  return transpose ? transposed(matrix) : matrix;
}

// Channels of [1,C,h,w] or [1,h,w,C]: h and w have the proportion of the picture, else C is
// smaller.
size_t prototypes(std::span<const int64_t> shape, const Interface& interface) {
  const auto fits = [&](int64_t height, int64_t width) {
    return interface.height > 0 && height * interface.width == width * interface.height;
  };
  const bool first = fits(shape[2], shape[3]), last = fits(shape[1], shape[2]);
  return static_cast<size_t>(first == last ? std::min(shape[1], shape[3])
                             : first       ? shape[1]
                                           : shape[3]);
}

// A second output of rank 4 holds prototypes of masks: as many columns are their coefficients.
std::optional<Rows> find_rows(const HeadContext& context) {
  Rows rows;
  if (context.outputs.size() == 2) {
    const bool first = context.outputs[0].rank() == 3 && context.outputs[1].rank() == 4;
    const bool second = context.outputs[1].rank() == 3 && context.outputs[0].rank() == 4;
    if (!first && !second) return std::nullopt;
    rows.output = first ? 0 : 1;
    rows.masks = prototypes(context.outputs[first ? 1 : 0].shape, context.interface);
  } else if (context.outputs.size() != 1) {
    return std::nullopt;
  }
  const Tensor& tensor = context.outputs[rows.output];
  const std::optional<Matrix> matrix = as_matrix(tensor);
  if (!matrix || tensor.rank() > 4) return std::nullopt;
  const int64_t height = context.interface.height, width = context.interface.width;
  rows.grid = grid_with(height, width, matrix->rows);
  if (!rows.grid) {
    rows.grid = grid_with(height, width, matrix->columns);
    rows.transposed = rows.grid ? true : matrix->columns > matrix->rows;
  }
  rows.matrix = oriented(tensor, rows.transposed);
  if (rows.matrix.columns <= kBoxColumns) return std::nullopt;
  return rows;
}

bool is_placed(const Rows& rows) {
  if (!rows.grid || rows.grid->per_cell != 1)
    return span_of(rows.matrix, 2, kBoxColumns).least >= -0.001f;
  return place_correlation(*rows.grid, rows.matrix, 0) > kPlaced;
}

// Values that look like boxes and scores, where the number of rows says nothing.
bool looks_like_boxes(const Matrix& rows) {
  const Span places = span_of(rows, 0, 2), sizes = span_of(rows, 2, kBoxColumns);
  return places.most > kMostFraction && places.least > -places.most && sizes.least >= -0.001f &&
         is_unit(span_of(rows, kBoxColumns, kBoxColumns + 1));
}

// Whether the column behind the box is objectness. Where there is no object, class scores beside it
// are whatever they happen to be; scores without objectness are near zero there.
bool has_objectness(const Rows& rows) {
  const Matrix& matrix = rows.matrix;
  if (matrix.columns < 6) return false;
  if (rows.grid && rows.grid->per_cell == 3) return true;
  if (rows.transposed || rows.masks > 0) return false;
  const Span objectness = span_of(matrix, 4, 5);
  if (objectness.least > 0.999f && objectness.most < 1.001f) return true;
  size_t empty = 0, scored = 0;
  for (size_t row = 0; row < matrix.rows; ++row) {
    if (matrix.at(row, 4) >= kLeastScore) continue;
    ++empty;
    for (size_t column = 5; column < matrix.columns; ++column)
      if (matrix.at(row, column) > kReferenceScore) {
        ++scored;
        break;
      }
  }
  return matrix.columns == 85 || scored * 10 > empty;
}

struct YoloForm {
  Places places = Places::Pixels;
  bool objectness = false, logits = false;
};

class YoloHead final : public Head {
 public:
  YoloHead(std::string name, const HeadContext& context, Rows rows, YoloForm form)
      : rows_(std::move(rows)),
        form_(form),
        height_(static_cast<float>(context.interface.height)),
        width_(static_cast<float>(context.interface.width)) {
    name_ = std::move(name);
    first_ = kBoxColumns + (form.objectness ? 1 : 0);
    find_scores();
    classes_ = static_cast<int32_t>(std::max<size_t>(1, scores_));
    explain(context);
  }

  void decode(Tensors outputs, float least, Candidates& candidates) const override {
    const Matrix rows = oriented(outputs[rows_.output], rows_.transposed);
    if (form_.places == Places::Cells) {
      for (const Level& level : rows_.grid->levels)
        for (size_t cell = 0; cell < level.cells(); ++cell)
          add_row(rows, level.first + cell, &level, cell, least, candidates);
      return;
    }
    for (size_t row = 0; row < rows.rows; ++row) add_row(rows, row, nullptr, 0, least, candidates);
  }

 private:
  // Scores are the columns from 0 to 1; keypoints and angles behind them are not.
  void find_scores() {
    const size_t end = rows_.matrix.columns - std::min(rows_.masks, rows_.matrix.columns - first_);
    while (first_ + scores_ < end &&
           is_unit(span_of(rows_.matrix, first_ + scores_, first_ + scores_ + 1)))
      ++scores_;
    if (scores_ > 0 || first_ == end) return;
    form_.logits = true;
    scores_ = end - first_;
  }

  void explain(const HeadContext& context) {
    const Tensor& tensor = context.outputs[rows_.output];
    reason_ = fmt::format("output '{}' {}: {} rows", context.interface.outputs[rows_.output],
                          shape_text(tensor.shape), rows_.matrix.rows);
    if (rows_.grid)
      reason_ += fmt::format(", {} for each cell of strides {} to {} of a {}x{} picture",
                             rows_.grid->per_cell == 1 ? "one" : "three",
                             rows_.grid->levels.front().stride, rows_.grid->levels.back().stride,
                             context.interface.height, context.interface.width);
    constexpr std::string_view kPlaces[] = {"in pixels", "in fractions of the picture",
                                            "relative to their cells"};
    reason_ +=
        fmt::format(", with boxes {}{} and {} {}{}", kPlaces[static_cast<size_t>(form_.places)],
                    form_.objectness ? ", objectness" : "", scores_,
                    scores_ == 1 ? "class" : "classes", form_.logits ? " as logits" : "");
    const size_t more = rows_.matrix.columns - first_ - scores_;
    if (more > 0) reason_ += fmt::format("; {} columns behind them are not judged", more);
  }

  float probability(float value) const { return form_.logits ? sigmoid(value) : value; }

  Box box_of(const Matrix& rows, size_t row, const Level* level, size_t cell) const {
    float x = rows.at(row, 0), y = rows.at(row, 1), w = rows.at(row, 2), h = rows.at(row, 3);
    if (level != nullptr) {
      const auto stride = static_cast<float>(level->stride);
      const auto columns = static_cast<size_t>(level->columns);
      x = (x + static_cast<float>(cell % columns)) * stride;
      y = (y + static_cast<float>(cell / columns)) * stride;
      w = std::exp(std::min(w, kMostExponent)) * stride;
      h = std::exp(std::min(h, kMostExponent)) * stride;
    } else if (form_.places == Places::Fractions && height_ > 0 && width_ > 0) {
      x *= width_, w *= width_;
      y *= height_, h *= height_;
    }
    return centred(x, y, w, h);
  }

  void add_row(const Matrix& rows, size_t row, const Level* level, size_t cell, float least,
               Candidates& candidates) const {
    const float objectness = form_.objectness ? probability(rows.at(row, 4)) : 1.0f;
    // Also leaves out what is not a number.
    if (!(objectness >= least)) return;
    const auto number = static_cast<int32_t>(row);
    if (scores_ == 0)
      return candidates.add({box_of(rows, row, level, cell), objectness, 0, -1, number});
    for (size_t label = 0; label < scores_; ++label) {
      const float score = objectness * probability(rows.at(row, first_ + label));
      if (!(score >= least)) continue;
      candidates.add(
          {box_of(rows, row, level, cell), score, static_cast<int32_t>(label), -1, number});
    }
  }

  Rows rows_;
  YoloForm form_;
  float height_, width_;
  size_t first_ = 0, scores_ = 0;  // columns
};

Places places_of(const Rows& rows) {
  return span_of(rows.matrix, 0, kBoxColumns).most > kMostFraction ? Places::Pixels
                                                                   : Places::Fractions;
}

// The decoded heads.
HeadPtr recognise_decoded(const HeadContext& context, bool objectness, std::string_view name) {
  std::optional<Rows> rows = find_rows(context);
  if (!rows) return nullptr;
  if (!context.forced) {
    if (rows->grid ? !is_placed(*rows) : !looks_like_boxes(rows->matrix)) return nullptr;
    if (has_objectness(*rows) != objectness) return nullptr;
  }
  const Places places = places_of(*rows);
  return std::make_unique<YoloHead>(std::string(name), context, std::move(*rows),
                                    YoloForm{places, objectness, false});
}

// x1 y1 x2 y2 score class, as networks give it that leave no overlaps.
class EndToEndHead final : public Head {
 public:
  explicit EndToEndHead(const HeadContext& context)
      : height_(static_cast<float>(context.interface.height)),
        width_(static_cast<float>(context.interface.width)) {
    name_ = "YOLO end to end (v10, v26)";
    suppression_ = false;
    const Tensor& tensor = context.outputs[0];
    fractions_ = span_of(*as_matrix(tensor), 0, kBoxColumns).most <= kMostFraction;
    reason_ = fmt::format("output '{}' {}: rows of two corners in {}, a score and a whole number",
                          context.interface.outputs[0], shape_text(tensor.shape),
                          fractions_ ? "fractions of the picture" : "pixels");
  }

  void decode(Tensors outputs, float least, Candidates& candidates) const override {
    const Matrix rows = *as_matrix(outputs[0]);
    const float x = fractions_ && width_ > 0 ? width_ : 1,
                y = fractions_ && height_ > 0 ? height_ : 1;
    for (size_t row = 0; row < rows.rows; ++row) {
      const float score = rows.at(row, 4), label = std::nearbyint(rows.at(row, 5));
      if (!(score >= least) || !(label >= 0 && label < 1e6f)) continue;
      candidates.add(
          {{rows.at(row, 0) * x, rows.at(row, 1) * y, rows.at(row, 2) * x, rows.at(row, 3) * y},
           score,
           static_cast<int32_t>(label),
           -1});
    }
  }

 private:
  float height_, width_;
  bool fractions_ = false;
};

}  // namespace

HeadPtr recognise_yolo(const HeadContext& context) {
  return recognise_decoded(context, false, "YOLOv8 (v8, v9, v11)");
}

HeadPtr recognise_yolo_objectness(const HeadContext& context) {
  return recognise_decoded(context, true, "YOLOv5 (v5, v7)");
}

HeadPtr recognise_yolox(const HeadContext& context) {
  std::optional<Rows> rows = find_rows(context);
  if (!rows || !rows->grid || rows->grid->per_cell != 1 || rows->matrix.columns < 6) return nullptr;
  const bool probabilities = is_unit(span_of(rows->matrix, kBoxColumns, rows->matrix.columns));
  if (!context.forced && (is_placed(*rows) || !probabilities)) return nullptr;
  return std::make_unique<YoloHead>("YOLOX", context, std::move(*rows),
                                    YoloForm{Places::Cells, true, false});
}

HeadPtr recognise_end_to_end(const HeadContext& context) {
  if (context.outputs.size() != 1 || context.outputs[0].rank() != 3) return nullptr;
  const std::optional<Matrix> rows = as_matrix(context.outputs[0]);
  if (!rows || rows->columns != 6) return nullptr;
  if (!context.forced) {
    if (grid_with(context.interface.height, context.interface.width, rows->rows)) return nullptr;
    if (!is_unit(span_of(*rows, 4, 5))) return nullptr;
    for (size_t row = 0; row < rows->rows; ++row) {
      const float label[] = {rows->at(row, 5)};
      if (!are_integers(label) || label[0] < 0) return nullptr;
      if (rows->at(row, 2) < rows->at(row, 0) || rows->at(row, 3) < rows->at(row, 1))
        return nullptr;
    }
  }
  return std::make_unique<EndToEndHead>(context);
}

}  // namespace ec::tasks::detection
