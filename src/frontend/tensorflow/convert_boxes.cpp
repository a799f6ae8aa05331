// Boxes of a detector: suppression of those that overlap better ones.
#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/graph_builder.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

// The selected boxes, best first: their numbers and how many they are.
Status suppress(OpContext& ctx, ec::Tensor* iou, ec::Tensor* threshold, bool pads) {
  EC_TRY(ec::Tensor * boxes, ctx.unsqueeze(ctx.in(0), {0}));
  EC_TRY(ec::Tensor * scores, ctx.unsqueeze(ctx.in(1), {0, 1}));
  EC_TRY(ec::Tensor * limit, ctx.as_i64(2));
  EC_TRY(ec::Tensor * found,
         ctx.add(OpKind::NonMaxSuppression, {boxes, scores, limit, iou, threshold}, NmsAttrs{}));
  EC_TRY(ec::Tensor * indices, ctx.gather(found, ctx.scalar(DType::I64, 2), 1));
  const bool soft = ctx.source().op == "NonMaxSuppressionV5";
  ShapeAttrs first;
  first.end = 1;
  EC_TRY(ec::Tensor * count, ctx.add(OpKind::Shape, {indices}, first));
  ec::Tensor* padding = nullptr;
  if (pads) {
    EC_TRY(ec::Tensor * missing, ctx.add(OpKind::Sub, {limit, count}));
    EC_TRY(padding, ctx.concat({ctx.ints({0}), missing}, 0));
  }
  size_t next = 1;
  ec::Tensor* best = nullptr;
  if (soft) {
    EC_TRY(best, ctx.gather(ctx.in(1), indices, 0));
    if (padding != nullptr) {
      EC_TRY(best, ctx.add(OpKind::Pad, {best, padding}, PadAttrs{}));
    }
  }
  if (padding != nullptr) {
    EC_TRY(indices, ctx.add(OpKind::Pad, {indices, padding}, PadAttrs{}));
  }
  EC_TRY(indices, ctx.cast(indices, DType::I32));
  EC_CHECK_OK(ctx.set(0, indices));
  if (best != nullptr) EC_CHECK_OK(ctx.set(next++, best));
  EC_TRY(count, ctx.cast(count, DType::I32));
  EC_TRY(count, ctx.reshape(count, std::vector<int64_t>{}));
  return ctx.set(next, count);
}

// (boxes, scores, max_output_size, iou_threshold?, score_threshold?, soft_nms_sigma?)
Status non_max_suppression(OpContext& ctx) {
  if (ctx.num_inputs() > 5) {
    const auto sigma = known_scalar(ctx.in(5));
    if (!sigma || *sigma != 0.0)
      return ctx.unsupported("suppression that lowers scores (sigma above 0) is not supported");
  }
  ec::Tensor* iou = ctx.in(3);
  if (iou == nullptr) iou = ctx.scalar(DType::F32, ctx.attr_float("iou_threshold", 0.5f));
  return suppress(ctx, iou, ctx.in(4), ctx.attr_bool("pad_to_max_output_size"));
}

// --- all classes of an image together
// --------------------------------------------------------------

struct Combined {
  int64_t total = 0;                // boxes of an image in the result
  ec::Tensor* per_class = nullptr;  // i64[1]
  ec::Tensor* places = nullptr;     // 0 ... total - 1
  ec::Tensor* iou = nullptr;
  ec::Tensor* threshold = nullptr;
  bool clip = true;
};

// The best boxes of one image, [1, total, ...], filled up with zeros.
struct Detections {
  ec::Tensor* boxes = nullptr;
  ec::Tensor* scores = nullptr;
  ec::Tensor* classes = nullptr;
  ec::Tensor* count = nullptr;
};

// boxes [1, n, 4], scores [1, classes, n].
Detections best_of(GraphBuilder& b, const Combined& wanted, ec::Tensor* boxes, ec::Tensor* scores) {
  const int64_t total = wanted.total;
  ec::Tensor* found =
      b.add(OpKind::NonMaxSuppression,
            {boxes, scores, wanted.per_class, wanted.iou, wanted.threshold}, NmsAttrs{});
  ShapeAttrs first;
  first.end = 1;
  ec::Tensor* count = b.add(OpKind::Shape, {found}, first);
  // Places for as many as are wanted, behind those that were found.
  ec::Tensor* values = b.add(OpKind::GatherNd, {scores, found}, GatherNdAttrs{});
  values = b.pad(values, {0}, {total}, b.like(values, -std::numeric_limits<float>::max()));
  found = b.pad(found, {0, 0}, {total, 0});
  TopKAttrs largest;
  largest.axis = 0;
  const Tensors top = b.add_many(OpKind::TopK, {values, b.int_list({total})}, largest, 2);
  ec::Tensor* rows = b.gather(found, top[1], 0);
  ec::Tensor* used = b.add(OpKind::Less, {wanted.places, count});
  const auto column = [&](int64_t i) { return b.squeeze(b.slice(rows, 1, i, i + 1), {1}); };
  ec::Tensor* corners = b.gather(b.squeeze(boxes, {0}), column(2), 0);
  if (wanted.clip) corners = b.clip(corners, 0.0, 1.0);
  const auto kept = [&](ec::Tensor* x, ec::Tensor* mask) {
    return b.unsqueeze(b.where(mask, x, b.like(x, 0)), {0});
  };
  Detections best;
  best.boxes = kept(corners, b.unsqueeze(used, {1}));
  best.scores = kept(top[0], used);
  best.classes = kept(b.cast(column(1), DType::F32), used);
  count = b.add(OpKind::Min, {count, b.int_list({total})});
  best.count = b.cast(count, DType::I32);
  return best;
}

// (boxes [b, n, 1, 4], scores [b, n, classes], per class, total, iou_threshold, score_threshold).
Status combined_non_max_suppression(OpContext& ctx) {
  GraphBuilder b(ctx.graph(), ctx.location());
  ec::Tensor* boxes = ctx.in(0);
  ec::Tensor* scores = ctx.in(1);
  EC_TRY(const int64_t per_class, ctx.need_int(2, "max_output_size_per_class"));
  EC_TRY(const int64_t total, ctx.need_int(3, "max_total_size"));
  constexpr int64_t kMost = 1 << 16, kMostImages = 64;
  if (per_class < 1 || per_class > kMost || total < 1 || total > kMost)
    return ctx.fail(Code::BadValue, "the number of boxes is out of range");
  if (b.rank(boxes) != 4 || b.rank(scores) != 3)
    return ctx.fail(Code::ShapeMismatch, "boxes and scores have other shapes than expected");
  const int64_t images = b.size(boxes, 0);
  if (b.size(boxes, 2) != 1)
    return ctx.unsupported("boxes of their own for every class are not supported")
        .hint("give one box for all classes of a candidate");
  EC_CHECK_OK(b.status());
  if (images < 1 || images > kMostImages)
    return ctx.unsupported("boxes of " + std::to_string(images) + " images at once");
  Combined wanted;
  wanted.total = total;
  if (ctx.attr_bool("pad_per_class"))
    wanted.total = std::min(total, per_class * std::min(kMost, b.size(scores, 2)));
  EC_CHECK_OK(ctx.take_room(static_cast<size_t>(wanted.total) * sizeof(int64_t)));
  std::vector<int64_t> places(static_cast<size_t>(wanted.total));
  std::iota(places.begin(), places.end(), 0);
  wanted.places = b.int_list(places);
  wanted.per_class = b.int_list({per_class});
  wanted.iou = ctx.in(4);
  wanted.threshold = ctx.in(5);
  wanted.clip = ctx.attr_bool("clip_boxes", true);
  boxes = b.squeeze(b.to_float(boxes), {2});
  scores = b.transpose(b.to_float(scores), {0, 2, 1});
  Tensors parts[4];
  for (int64_t i = 0; i < images; ++i) {
    const Detections best =
        best_of(b, wanted, b.slice(boxes, 0, i, i + 1), b.slice(scores, 0, i, i + 1));
    parts[0].push_back(best.boxes);
    parts[1].push_back(best.scores);
    parts[2].push_back(best.classes);
    parts[3].push_back(best.count);
  }
  for (size_t i = 0; i < std::size(parts); ++i) {
    ec::Tensor* whole = b.concat(std::move(parts[i]), 0);
    EC_CHECK_OK(b.status());
    EC_CHECK_OK(ctx.set(i, whole));
  }
  return {};
}

#define EC_SOFT "selected_indices,selected_scores,valid_outputs"
#define EC_COMBINED "nmsed_boxes,nmsed_scores,nmsed_classes,valid_detections"
constexpr OpRow kRows[] = {
    {"NonMaxSuppression", {3, 3}, non_max_suppression},
    {"NonMaxSuppressionV2", {4, 4}, non_max_suppression},
    {"NonMaxSuppressionV3", {5, 5}, non_max_suppression},
    {"NonMaxSuppressionV4",
     {5, 5},
     non_max_suppression,
     Takes::Numbers,
     "selected_indices,valid_outputs"},
    {"NonMaxSuppressionV5", {6, 6}, non_max_suppression, Takes::Numbers, EC_SOFT},
    {"CombinedNonMaxSuppression",
     {6, 6},
     combined_non_max_suppression,
     Takes::Numbers,
     EC_COMBINED},
};
#undef EC_SOFT
#undef EC_COMBINED

}  // namespace

const std::span<const OpRow> kBoxRows = kRows;

}  // namespace ec::tf
