// The last steps of object detectors: boxes that overlap better ones go.
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cmath>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

Status emit_detection(OpEmitter& e) {
  const auto& attrs = e.attrs<DetectionAttrs>();
  flexbuffers::Builder fbb;
  fbb.Map([&] {
    fbb.Int("max_detections", attrs.max_detections);
    fbb.Int("max_classes_per_detection", attrs.max_classes_per_detection);
    fbb.Int("detections_per_class", attrs.detections_per_class);
    fbb.Int("num_classes", attrs.num_classes);
    fbb.Bool("use_regular_nms", attrs.regular_nms);
    fbb.Float("nms_score_threshold", attrs.score_threshold);
    fbb.Float("nms_iou_threshold", attrs.iou_threshold);
    fbb.Float("y_scale", attrs.y_scale);
    fbb.Float("x_scale", attrs.x_scale);
    fbb.Float("h_scale", attrs.h_scale);
    fbb.Float("w_scale", attrs.w_scale);
  });
  fbb.Finish();
  e.add_custom("TFLite_Detection_PostProcess", fbb.GetBuffer());
  return {};
}

// The operator takes one image and one class; the graph's operation takes all of them and gives
// rows of (image, class, box), as many as there are.
class SelectedBoxes {
 public:
  explicit SelectedBoxes(OpEmitter& e) : e_(e) {}

  Status emit() {
    EC_CHECK_OK(e_.require_static(e_.input(0)));
    EC_CHECK_OK(e_.require_static(e_.input(1)));
    const std::vector<int64_t> scores = e_.input(1).shape()->sizes();
    const auto limit = e_.has(2) ? scalar_value(&e_.input(2)) : 0;
    const auto overlap = e_.has(3) ? scalar_value(&e_.input(3)) : 0;
    const auto least = e_.has(4) ? scalar_value(&e_.input(4)) : -1e30;
    constexpr int64_t kMaxOperators = 1024;
    if (!limit || !overlap || !least || e_.attrs<NmsAttrs>().center_boxes ||
        scores[0] * scores[1] > kMaxOperators)
      return e_.fail("thresholds that are computed, or boxes by their centre, or too many classes");
    boxes_ = scores[2];
    limit_ = static_cast<int64_t>(std::clamp(*limit, 0.0, static_cast<double>(boxes_)));
    if (limit_ < 1 || scores[0] * scores[1] == 0) return e_.fail("no boxes to select");
    // Image and class stand beside each of them in the file.
    constexpr int64_t kMostRows = int64_t{1} << 20;
    if (limit_ > kMostRows / (scores[0] * scores[1]))
      return e_.fail("more than a million boxes to select", "lower max_output_boxes_per_class");
    limit_number_ = e_.int_scalar(limit_);
    // Boxes that overlap by just the threshold stay in the graph and go in the operator.
    const float bound = std::nextafter(static_cast<float>(*overlap), HUGE_VALF);
    overlap_ = e_.number(ec::TensorType(DType::F32, Shape{}), double{bound});
    least_ = e_.number(ec::TensorType(DType::F32, Shape{}), *least);
    std::vector<int32_t> parts;
    for (int64_t image = 0; image < scores[0]; ++image) {
      const int32_t boxes = part(e_.in(0), {image, 0, 0}, {1, boxes_, 4}, {boxes_, 4});
      for (int64_t kind = 0; kind < scores[1]; ++kind) parts.push_back(select(boxes, image, kind));
    }
    int32_t rows = parts[0];
    if (parts.size() > 1)
      rows = e_.step(
          Op::CONCATENATION, std::move(parts), rows_type(Dim::unknown()),
          options(BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(e_.fbb(), 0)));
    e_.add(Op::CAST, {rows}, {e_.out()},
           options(BuiltinOptions::CastOptions,
                   CreateCastOptions(e_.fbb(), TensorType::INT32, TensorType::INT64)));
    return {};
  }

 private:
  static ec::TensorType rows_type(Dim count) {
    return ec::TensorType(DType::I32, Shape{count, Dim(3)});
  }

  // A box of the tensor, with other dimensions.
  int32_t part(int32_t tensor, std::vector<int64_t> begin, std::vector<int64_t> sizes,
               const std::vector<int64_t>& shape) {
    const ec::TensorType whole(DType::F32, Shape::of(sizes));
    const int32_t from = e_.ints(begin), to = e_.ints(sizes);
    const int32_t cut =
        e_.step(Op::SLICE, {tensor, from, to}, whole,
                options(BuiltinOptions::SliceOptions, CreateSliceOptions(e_.fbb())));
    return e_.step(Op::RESHAPE, {cut, e_.ints(shape)},
                   ec::TensorType(DType::F32, Shape::of(shape)));
  }

  int32_t select(int32_t boxes, int64_t image, int64_t kind) {
    const int32_t scores = part(e_.in(1), {image, kind, 0}, {1, 1, boxes_}, {boxes_});
    const int32_t found =
        e_.graph().add_tensor(name("_boxes"), ec::TensorType(DType::I32, Shape{Dim(limit_)}));
    const int32_t count =
        e_.graph().add_tensor(name("_count"), ec::TensorType(DType::I32, Shape{}));
    e_.add(Op::NON_MAX_SUPPRESSION_V4, {boxes, scores, limit_number_, overlap_, least_},
           {found, count},
           options(BuiltinOptions::NonMaxSuppressionV4Options,
                   CreateNonMaxSuppressionV4Options(e_.fbb())));
    // (image, class) beside each box, then as many rows as were found.
    std::vector<int32_t> fixed;
    for (int64_t i = 0; i < limit_; ++i) {
      fixed.push_back(static_cast<int32_t>(image));
      fixed.push_back(static_cast<int32_t>(kind));
    }
    const int32_t left = e_.constant(ec::TensorType(DType::I32, Shape{Dim(limit_), Dim(2)}),
                                     Blob::copy_of(std::span<const int32_t>(fixed)));
    const int64_t column[] = {limit_, 1}, zeros[] = {0, 0};
    const int32_t right = e_.step(Op::RESHAPE, {found, e_.ints(column)},
                                  ec::TensorType(DType::I32, Shape{Dim(limit_), Dim(1)}));
    const int32_t rows = e_.step(
        Op::CONCATENATION, {left, right}, rows_type(Dim(limit_)),
        options(BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(e_.fbb(), 1)));
    const int32_t size =
        e_.step(Op::PACK, {count, e_.int_scalar(3)}, ec::TensorType(DType::I32, Shape{Dim(2)}),
                options(BuiltinOptions::PackOptions, CreatePackOptions(e_.fbb(), 2, 0)));
    return e_.step(Op::SLICE, {rows, e_.ints(zeros), size}, rows_type(Dim::unknown()),
                   options(BuiltinOptions::SliceOptions, CreateSliceOptions(e_.fbb())));
  }

  std::string name(const char* what) const { return e_.op().output()->name() + what; }

  OpEmitter& e_;
  int64_t boxes_ = 0, limit_ = 0;
  int32_t limit_number_ = 0, overlap_ = 0, least_ = 0;
};

Status emit_non_max_suppression(OpEmitter& e) { return SelectedBoxes(e).emit(); }

constexpr EmitRow kRows[] = {
    {OpKind::DetectionPostProcess, emit_detection},
    {OpKind::NonMaxSuppression, emit_non_max_suppression},
};

}  // namespace

const std::span<const EmitRow> kEmitDetection = kRows;

}  // namespace ec::tflite
