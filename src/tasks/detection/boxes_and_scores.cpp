// Heads with boxes in one output and class scores in another: DETR and its kin, SSD decoded and
// raw, faces with landmarks behind the box, and maps with a box and scores for each cell.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/detection/head.h"
#include "tasks/values.h"

namespace ec::tasks::detection {
namespace {

enum class Coding : uint8_t {
  Corners,  // x1 y1 x2 y2
  Centres,  // cx cy w h
  Anchors,  // offsets and logarithms of sizes, relative to an anchor
  Offsets,  // cx cy w h relative to the centre of an anchor
  Windows,  // what is added to the corners of a window, in parts of its size
};
enum class Scores : uint8_t { Probabilities, Sigmoid, Softmax };
constexpr int kNoBackground = -1;

// Queries of transformers are few and answer for one object each; anchors are thousands.
constexpr size_t kMostQueries = 1000;
// SSD's variances 0.1 and 0.2, with which encodings are multiplied.
constexpr float kCentreVariance = 0.1f, kSizeVariance = 0.2f;
constexpr float kMostExponent = 30.0f;

template <class Holds>
double share_of_rows(const Matrix& matrix, Holds&& holds) {
  size_t count = 0;
  for (size_t row = 0; row < matrix.rows; ++row) count += holds(row) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(matrix.rows);
}

Coding coding_of(const Matrix& boxes) {
  // Some networks give an empty row a corner that is a little wrong.
  const double ordered = share_of_rows(boxes, [&](size_t row) {
    return boxes.at(row, 2) >= boxes.at(row, 0) && boxes.at(row, 3) >= boxes.at(row, 1);
  });
  const double positive = share_of_rows(
      boxes, [&](size_t row) { return boxes.at(row, 2) > 0 && boxes.at(row, 3) > 0; });
  const Span places = span_of(boxes, 0, 2);
  // Corners and centres lie in the picture, but for a margin.
  const bool inside = places.least > -0.5f * std::max(1.0f, places.most);
  if (ordered > 0.98 && inside && positive > 0.5) return Coding::Corners;
  if (positive > 0.98) return inside ? Coding::Centres : Coding::Offsets;
  return Coding::Anchors;
}

struct ScoreForm {
  Scores kind = Scores::Probabilities;
  int background = kNoBackground;  // column
};

// The class that most rows prefer is the background, where it is the first or the last.
int background_of(const Matrix& scores, float least) {
  if (scores.columns < 2) return kNoBackground;
  for (const size_t column : {size_t{0}, scores.columns - 1}) {
    const double share = share_of_rows(scores, [&](size_t row) {
      return largest_column(scores, row) == column && scores.at(row, column) > least;
    });
    if (share > 0.5) return static_cast<int>(column);
  }
  return kNoBackground;
}

ScoreForm score_form(const Matrix& scores) {
  if (!is_unit(span_of(scores, 0, scores.columns))) {
    // Trained with a sigmoid for each class, logits of empty rows are all negative.
    const int background = background_of(scores, 0.0f);
    return {background == kNoBackground ? Scores::Sigmoid : Scores::Softmax, background};
  }
  if (!rows_sum_to_one(scores)) return {Scores::Probabilities, kNoBackground};
  return {Scores::Probabilities, background_of(scores, 0.5f)};
}

// How a tensor holds boxes.
enum class Layout : uint8_t {
  Rows,      // [1,N,4]
  Columns,   // [1,4,N]
  MapFirst,  // [1,4,H,W]
  MapLast,   // [1,H,W,4]
};

// A row for each box.
Matrix rows_of(const Tensor& tensor, Layout layout) {
  if (layout == Layout::Rows) return *as_matrix(tensor);
  if (layout == Layout::Columns) return transposed(*as_matrix(tensor));
  const auto size = [&](size_t d) { return static_cast<size_t>(tensor.shape[d]); };
  if (layout == Layout::MapLast)
    return {tensor.values.data(), size(1) * size(2), size(3), size(3), 1};
  return {tensor.values.data(), size(2) * size(3), size(1), 1, size(2) * size(3)};
}

class BoxesAndScoresHead final : public Head {
 public:
  BoxesAndScoresHead(const HeadContext& context, size_t boxes, size_t scores, Layout layout)
      : boxes_(boxes), scores_(scores), layout_(layout) {
    const Matrix box_rows = rows_of(context.outputs[boxes], layout);
    const Matrix score_rows = rows_of(context.outputs[scores], layout);
    const bool cells = layout == Layout::MapFirst || layout == Layout::MapLast;
    const bool windows = cells && span_of(box_rows, 0, 4).within(-1.5f, 1.5f);
    coding_ = windows ? Coding::Windows : coding_of(box_rows);
    form_ = score_form(score_rows);
    placed_ = coding_ == Coding::Corners || coding_ == Coding::Centres;
    const bool queries = coding_ == Coding::Centres && box_rows.rows <= kMostQueries;
    suppression_ = placed_ && !queries;
    if (placed_ && span_of(box_rows, 0, 4).most <= 2 && context.interface.width > 0) {
      width_ = static_cast<float>(context.interface.width);
      height_ = static_cast<float>(context.interface.height);
    }
    classes_ = static_cast<int32_t>(score_rows.columns) - (form_.background >= 0 ? 1 : 0);
    name_ = queries                      ? "DETR"
            : placed_                    ? "SSD, decoded"
            : coding_ == Coding::Windows ? "windows of cells, by cell"
            : coding_ == Coding::Offsets ? "SSD of faces, by anchor"
                                         : "SSD, by anchor";
    explain(context);
  }

  void decode(Tensors outputs, float least, Candidates& candidates) const override {
    const Matrix boxes = rows_of(outputs[boxes_], layout_);
    const Matrix scores = rows_of(outputs[scores_], layout_);
    for (size_t row = 0; row < scores.rows; ++row) {
      const auto [most, sum] = softmax_terms(scores, row);
      const auto number = static_cast<int32_t>(row);
      int32_t label = 0;
      for (size_t column = 0; column < scores.columns; ++column) {
        if (static_cast<int>(column) == form_.background) continue;
        const float raw = scores.at(row, column);
        const float score = form_.kind == Scores::Sigmoid   ? sigmoid(raw)
                            : form_.kind == Scores::Softmax ? std::exp(raw - most) / sum
                                                            : raw;
        if (score >= least)
          candidates.add({box_of(boxes, row), score, label, placed_ ? -1 : number, number});
        ++label;
      }
    }
  }

 private:
  void explain(const HeadContext& context) {
    constexpr std::string_view kCodings[] = {"corners", "centres and sizes",
                                             "offsets and logarithms of sizes", "offsets and sizes",
                                             "offsets of corners"};
    constexpr std::string_view kScores[] = {"probabilities", "logits of sigmoids",
                                            "logits of a softmax"};
    const auto output = [&](size_t index) {
      return fmt::format("'{}' {}", context.interface.outputs[index],
                         shape_text(context.outputs[index].shape));
    };
    reason_ = fmt::format("boxes in {} as {}{}, scores in {} as {}", output(boxes_),
                          kCodings[static_cast<size_t>(coding_)],
                          placed_ ? "" : " relative to anchors that the outputs do not tell",
                          output(scores_), kScores[static_cast<size_t>(form_.kind)]);
    if (form_.background >= 0)
      reason_ +=
          fmt::format(", the {} for the background", form_.background == 0 ? "first" : "last");
  }

  // The largest logit of a row, and the sum of the exponentials relative to it.
  std::pair<float, float> softmax_terms(const Matrix& scores, size_t row) const {
    if (form_.kind != Scores::Softmax) return {0.0f, 1.0f};
    const float most = scores.at(row, largest_column(scores, row));
    float sum = 0;
    for (size_t column = 0; column < scores.columns; ++column)
      sum += std::exp(scores.at(row, column) - most);
    return {most, sum};
  }

  // Relative to an anchor of size one at the origin: the overlap of two boxes of one anchor is the
  // same for any anchor.
  Box box_of(const Matrix& boxes, size_t row) const {
    const float a = boxes.at(row, 0), b = boxes.at(row, 1), c = boxes.at(row, 2),
                d = boxes.at(row, 3);
    switch (coding_) {
      case Coding::Corners:
        return {a * width_, b * height_, c * width_, d * height_};
      case Coding::Centres:
        return centred(a * width_, b * height_, c * width_, d * height_);
      case Coding::Offsets:
        return centred(a, b, c, d);
      case Coding::Windows:
        return {a, b, 1 + c, 1 + d};
      case Coding::Anchors:
        break;
    }
    return centred(a * kCentreVariance, b * kCentreVariance,
                   std::exp(std::min(c * kSizeVariance, kMostExponent)),
                   std::exp(std::min(d * kSizeVariance, kMostExponent)));
  }

  size_t boxes_, scores_;
  Layout layout_;
  Coding coding_ = Coding::Corners;
  ScoreForm form_;
  float width_ = 1, height_ = 1;
};

// Boxes of [1,N,4], or with pairs of landmarks behind them.
bool holds_boxes(const Tensor& tensor, bool landmarks) {
  const std::optional<Matrix> matrix = as_matrix(tensor);
  if (!matrix || tensor.rank() < 3 || tensor.rank() > 4) return false;
  return landmarks ? matrix->columns > 4 && matrix->columns % 2 == 0 : matrix->columns == 4;
}

// [1,4,N] beside [1,C,N], as the halves of a YOLOv8 output are, with more boxes than there are
// columns.
bool are_turned(const Tensor& boxes, const Tensor& scores) {
  const std::optional<Matrix> a = as_matrix(boxes), b = as_matrix(scores);
  return a && b && boxes.rank() == 3 && scores.rank() == 3 && a->rows == 4 &&
         a->columns == b->columns && a->columns > 4 * std::max<size_t>(4, b->rows) &&
         is_unit(scores.values);
}

// [1,H,W,4] beside [1,H,W,C] with probabilities, or channels first: a cell for each box.
std::optional<Layout> map_layout(const Tensor& boxes, const Tensor& scores) {
  for (const Tensor* tensor : {&boxes, &scores})
    if (tensor->rank() != 4 || tensor->shape[0] != 1 || tensor->values.empty()) return std::nullopt;
  for (const Layout layout : {Layout::MapLast, Layout::MapFirst}) {
    const size_t y = layout == Layout::MapLast ? 1 : 2, channel = layout == Layout::MapLast ? 3 : 1;
    const bool same =
        boxes.shape[y] == scores.shape[y] && boxes.shape[y + 1] == scores.shape[y + 1];
    if (!same || boxes.shape[channel] != 4 || boxes.shape[y] < 2 || boxes.shape[y + 1] < 2)
      continue;
    if (is_unit(scores.values) && !is_unit(boxes.values)) return layout;
  }
  return std::nullopt;
}

HeadPtr recognise_maps(const HeadContext& context) {
  for (size_t boxes = 0; boxes < 2; ++boxes)
    if (const auto layout = map_layout(context.outputs[boxes], context.outputs[1 - boxes]))
      return std::make_unique<BoxesAndScoresHead>(context, boxes, 1 - boxes, *layout);
  return nullptr;
}

}  // namespace

HeadPtr recognise_box_and_scores(const HeadContext& context) {
  if (context.outputs.size() != 2) return nullptr;
  if (HeadPtr maps = recognise_maps(context)) return maps;
  for (const bool landmarks : {false, true})
    for (size_t boxes = 0; boxes < 2; ++boxes) {
      const Tensor& scores = context.outputs[1 - boxes];
      if (!holds_boxes(context.outputs[boxes], landmarks)) continue;
      const std::optional<Matrix> rows = as_matrix(scores);
      if (!rows || rows->rows != as_matrix(context.outputs[boxes])->rows || rows->rows < 2)
        continue;
      // Landmarks stand beside one score for each anchor.
      if (landmarks && rows->columns != 1) continue;
      // Where both have four columns, boxes are named so or come first.
      const bool both = rows->columns == 4 && !landmarks && boxes == 0;
      if (both && name_has(context.interface.outputs[0], {"score", "logit", "class"})) continue;
      return std::make_unique<BoxesAndScoresHead>(context, boxes, 1 - boxes, Layout::Rows);
    }
  for (size_t boxes = 0; boxes < 2; ++boxes)
    if (are_turned(context.outputs[boxes], context.outputs[1 - boxes]))
      return std::make_unique<BoxesAndScoresHead>(context, boxes, 1 - boxes, Layout::Columns);
  return nullptr;
}

}  // namespace ec::tasks::detection
