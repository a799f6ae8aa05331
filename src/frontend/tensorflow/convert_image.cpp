// Resizing, cropping, suppression of boxes.
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

CoordinateMode coordinates(const OpContext& ctx) {
  if (ctx.attr_bool("align_corners")) return CoordinateMode::AlignCorners;
  return ctx.attr_bool("half_pixel_centers") ? CoordinateMode::HalfPixel
                                             : CoordinateMode::Asymmetric;
}

Status resize(OpContext& ctx, ResizeAttrs attrs, bool to_float) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != 4) return ctx.fail(Code::ShapeMismatch, "the input has to have 4 dimensions");
  attrs.axes = {1, 2};
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(1));
  ec::Tensor* x = ctx.in(0);
  if (to_float) {
    EC_TRY(x, ctx.cast(x, DType::F32));
  }
  return ctx.finish(OpKind::Resize, {x, nullptr, nullptr, sizes}, attrs);
}

Status resize_bilinear(OpContext& ctx) {
  ResizeAttrs attrs;
  attrs.mode = ResizeMode::Linear;
  attrs.coordinates = coordinates(ctx);
  return resize(ctx, attrs, true);
}

Status resize_nearest(OpContext& ctx) {
  ResizeAttrs attrs;
  attrs.mode = ResizeMode::Nearest;
  attrs.coordinates = coordinates(ctx);
  // floor((x + 0.5) * scale) is the half-pixel coordinate rounded up at halves.
  attrs.nearest = attrs.coordinates == CoordinateMode::Asymmetric ? NearestMode::Floor
                                                                  : NearestMode::RoundPreferCeil;
  return resize(ctx, attrs, false);
}

// Keys' kernel with a = -0.5 where pixels have centres, else -0.75.
Status resize_bicubic(OpContext& ctx) {
  ResizeAttrs attrs;
  attrs.mode = ResizeMode::Cubic;
  attrs.coordinates = coordinates(ctx);
  const bool half = attrs.coordinates == CoordinateMode::HalfPixel;
  attrs.cubic_a = half ? -0.5f : -0.75f;
  attrs.exclude_outside = half;
  return resize(ctx, attrs, true);
}

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

// Boxes of every class and image. Supported as Keras uses it: boxes that all classes share.
Status combined_non_max_suppression(OpContext& ctx) {
  return ctx.unsupported("CombinedNonMaxSuppression is not supported")
      .hint(
          "export the model from the boxes and scores in front of it on, and select boxes behind "
          "the model");
}

constexpr Arity k2{2, 2};
#define EC_SOFT "selected_indices,selected_scores,valid_outputs"

constexpr OpRow kRows[] = {
    {"ResizeBilinear", k2, resize_bilinear},
    {"ResizeNearestNeighbor", k2, resize_nearest},
    {"ResizeBicubic", k2, resize_bicubic},
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
     "nmsed_boxes,nmsed_scores,nmsed_classes,valid_detections"},
};

}  // namespace

const std::span<const OpRow> kImageRows = kRows;

}  // namespace ec::tf
