// detection_post_process: box decoding and non-maximum suppression of SSD detectors, as in TFLite's
// TFLite_Detection_PostProcess.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/define.h"
#include "ops/quantized/real.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

enum : size_t { kEncodings, kScores, kAnchors };

struct Box {
  float ymin, xmin, ymax, xmax;
  float area() const { return (ymax - ymin) * (xmax - xmin); }
};

// --- inference ----------------------------------------------------------------------------------

Status check_attrs(const InferContext& ctx) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto& a = ctx.attrs<DetectionAttrs>();
  const std::pair<std::string_view, int64_t> counts[] = {
      {"max_detections", a.max_detections},
      {"max_classes_per_detection", a.max_classes_per_detection},
      {"detections_per_class", a.detections_per_class},
      {"num_classes", a.num_classes}};
  for (const auto& [name, count] : counts)
    if (count < 1 || count > kMost)
      return ctx.bad_value(std::string(name) + " is " + std::to_string(count));
  for (const float scale : {a.y_scale, a.x_scale, a.h_scale, a.w_scale})
    if (!(scale > 0.0f)) return ctx.bad_value("a box scale is not positive");
  return {};
}

Status infer_detection(InferContext& ctx) {
  EC_CHECK_OK(check_attrs(ctx));
  const size_t ranks[] = {3, 3, 2};
  for (size_t i = 0; i < 3; ++i) {
    if (!is_float(ctx.dtype(i)) && !ctx.type(i).quant)
      return ctx.bad_type("operands must be floats or quantised, not " + operand_text(ctx, i));
    if (ctx.shape(i) && ctx.shape(i)->rank() != ranks[i])
      return ctx.bad_shape("operand " + std::to_string(i) + " needs " + std::to_string(ranks[i]) +
                           " dimensions, not " + operand_text(ctx, i));
  }
  const auto& attrs = ctx.attrs<DetectionAttrs>();
  const int64_t boxes = attrs.max_detections * attrs.max_classes_per_detection;
  ctx.set(0, DType::F32, Shape{1, boxes, 4});
  ctx.set(1, DType::F32, Shape{1, boxes});
  ctx.set(2, DType::F32, Shape{1, boxes});
  ctx.set(3, DType::F32, Shape{1});
  return {};
}

// --- decoding -----------------------------------------------------------------------------------

struct Detections {
  std::vector<Box> boxes;
  std::vector<float> scores;  // [boxes, columns]
  int64_t columns = 0;        // classes, background included
  int64_t label_offset = 0;   // columns before the first class
};

// Encodings (y, x, h, w) relative to anchors (y, x, h, w); extra columns are key points.
std::vector<Box> decode_boxes(const DetectionAttrs& attrs, std::span<const float> encodings,
                              size_t step, std::span<const float> anchors, size_t count) {
  std::vector<Box> boxes;
  for (size_t i = 0; i < count; ++i) {
    const float* e = encodings.data() + i * step;
    const float* a = anchors.data() + i * 4;
    const auto center = [](float code, float scale, float size, float middle) {
      return static_cast<float>(double{code} / double{scale} * double{size} + double{middle});
    };
    const auto half = [](float code, float scale, float size) {
      return static_cast<float>(0.5 * std::exp(double{code} / double{scale}) * double{size});
    };
    const float y = center(e[0], attrs.y_scale, a[2], a[0]);
    const float x = center(e[1], attrs.x_scale, a[3], a[1]);
    const float h = half(e[2], attrs.h_scale, a[2]), w = half(e[3], attrs.w_scale, a[3]);
    boxes.push_back({y - h, x - w, y + h, x + w});
  }
  return boxes;
}

Result<Detections> decode(const KernelContext& ctx) {
  const auto& attrs = ctx.attrs<DetectionAttrs>();
  const auto e = ctx.input(kEncodings).shape, s = ctx.input(kScores).shape,
             a = ctx.input(kAnchors).shape;
  if (e[0] != 1 || s[0] != 1 || e[1] != s[1] || a[0] != e[1] || e[2] < 4 || a[1] != 4)
    return ctx.fail("box encodings, scores and anchors do not fit each other");
  Detections d;
  d.columns = s[2];
  d.label_offset = d.columns - attrs.num_classes;
  if (d.label_offset < 0) return ctx.fail("the scores have fewer columns than classes");
  EC_TRY(const std::vector<float> encodings, real_values(ctx, kEncodings));
  EC_TRY(d.scores, real_values(ctx, kScores));
  EC_TRY(const std::vector<float> anchors, real_values(ctx, kAnchors));
  d.boxes =
      decode_boxes(attrs, encodings, static_cast<size_t>(e[2]), anchors, static_cast<size_t>(e[1]));
  return d;
}

// --- suppression --------------------------------------------------------------------------------

float overlap(const Box& a, const Box& b) {
  if (a.area() <= 0.0f || b.area() <= 0.0f) return 0.0f;
  const float height = std::max(std::min(a.ymax, b.ymax) - std::max(a.ymin, b.ymin), 0.0f);
  const float width = std::max(std::min(a.xmax, b.xmax) - std::max(a.xmin, b.xmin), 0.0f);
  const float common = height * width;
  return common / (a.area() + b.area() - common);
}

// Boxes of one score list that survive, best first.
std::vector<size_t> suppress(const DetectionAttrs& attrs, std::span<const Box> boxes,
                             std::span<const float> scores, size_t most) {
  std::vector<size_t> order;
  for (size_t i = 0; i < boxes.size(); ++i)
    if (scores[i] >= attrs.score_threshold) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return scores[i] > scores[j]; });
  std::vector<char> active(order.size(), 1);
  std::vector<size_t> selected;
  Ticker ticker;
  for (size_t i = 0; i < order.size() && selected.size() < most; ++i) {
    if (active[i] == 0) continue;
    if (ticker.tick(8 * static_cast<int64_t>(order.size() - i))) break;
    selected.push_back(order[i]);
    for (size_t j = i + 1; j < order.size(); ++j)
      if (active[j] != 0 && overlap(boxes[order[i]], boxes[order[j]]) > attrs.iou_threshold)
        active[j] = 0;
  }
  return selected;
}

class Results {
 public:
  explicit Results(const KernelContext& ctx)
      : boxes_(ctx.output(0).as<float>()),
        classes_(ctx.output(1).as<float>()),
        scores_(ctx.output(2).as<float>()),
        count_(ctx.output(3).as<float>()) {
    for (const auto& list : {boxes_, classes_, scores_}) std::fill(list.begin(), list.end(), 0.0f);
  }
  void set(size_t at, const Box& box, int64_t label, float score) {
    if (at >= classes_.size()) return;
    const float corners[] = {box.ymin, box.xmin, box.ymax, box.xmax};
    std::copy_n(corners, 4, boxes_.begin() + static_cast<std::ptrdiff_t>(4 * at));
    classes_[at] = static_cast<float>(label);
    scores_[at] = score;
  }
  void finish(size_t count) { count_[0] = static_cast<float>(count); }

 private:
  std::span<float> boxes_, classes_, scores_, count_;
};

// Suppression on the best score of each box; each survivor is reported for its best classes.
void fast_suppression(const DetectionAttrs& attrs, const Detections& d, Results& results) {
  const auto classes = static_cast<size_t>(attrs.num_classes);
  const size_t per_box = std::min(static_cast<size_t>(attrs.max_classes_per_detection), classes);
  const auto row = [&](size_t box) {
    return std::span<const float>(d.scores).subspan(
        box * static_cast<size_t>(d.columns) + static_cast<size_t>(d.label_offset), classes);
  };
  std::vector<float> best;
  for (size_t i = 0; i < d.boxes.size(); ++i) best.push_back(*std::ranges::max_element(row(i)));
  size_t count = 0;
  for (const size_t box :
       suppress(attrs, d.boxes, best, static_cast<size_t>(attrs.max_detections))) {
    std::vector<int64_t> order(classes);
    std::iota(order.begin(), order.end(), 0);
    const auto scores = row(box);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return scores[static_cast<size_t>(i)] > scores[static_cast<size_t>(j)];
    });
    // The index counts detections twice where a box has several classes, as in TFLite.
    for (size_t k = 0; k < per_box; ++k, ++count)
      results.set(static_cast<size_t>(attrs.max_classes_per_detection) * count + k, d.boxes[box],
                  order[k], scores[static_cast<size_t>(order[k])]);
  }
  results.finish(count);
}

struct Candidate {
  size_t box;
  int64_t label;
  float score;
};

// Suppression within each class; the best of all classes are reported.
void regular_suppression(const DetectionAttrs& attrs, const Detections& d, Results& results) {
  std::vector<Candidate> best, merged;
  std::vector<float> scores(d.boxes.size());
  for (int64_t label = 0; label < attrs.num_classes; ++label) {
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i] = d.scores[i * static_cast<size_t>(d.columns) +
                           static_cast<size_t>(d.label_offset + label)];
    std::vector<Candidate> found;
    for (const size_t box :
         suppress(attrs, d.boxes, scores, static_cast<size_t>(attrs.detections_per_class)))
      found.push_back({box, label, scores[box]});
    merged.clear();
    // Equal scores: the later class goes first.
    size_t i = 0, j = 0;
    while (i < best.size() || j < found.size()) {
      const bool take_new =
          j < found.size() && (i == best.size() || found[j].score >= best[i].score);
      merged.push_back(take_new ? found[j++] : best[i++]);
    }
    merged.resize(std::min(merged.size(), static_cast<size_t>(attrs.max_detections)));
    best = merged;
  }
  for (size_t i = 0; i < best.size(); ++i)
    results.set(i, d.boxes[best[i].box], best[i].label, best[i].score);
  results.finish(best.size());
}

Status detection(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<DetectionAttrs>();
  EC_TRY(const Detections detections, decode(ctx));
  Results results(ctx);
  if (attrs.regular_nms)
    regular_suppression(attrs, detections, results);
  else
    fast_suppression(attrs, detections, results);
  return {};
}

}  // namespace

constexpr Rule kDetectionPostProcessRules[] = {rule::rank("box_encodings", 3),
                                               rule::rank("scores", 3),
                                               rule::rank("anchors", 2),
                                               rule::at_least("max_detections", 1),
                                               rule::at_least("max_classes_per_detection", 1),
                                               rule::at_least("detections_per_class", 1),
                                               rule::at_least("num_classes", 1)};
EC_OP_DEF(DetectionPostProcess,
          .signature = "(box_encodings, scores, anchors) -> (boxes, classes, scores, count)",
          .summary =
              "Decodes boxes relative to anchors and keeps the best by non-maximum suppression: "
              "corners, class numbers, scores and how many there are.",
          .rules = kDetectionPostProcessRules, .infer = infer_detection, .reference = detection,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
