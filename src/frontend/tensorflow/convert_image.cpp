// Resizing with the kernels that every framework has.
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

constexpr Arity k2{2, 2};

constexpr OpRow kRows[] = {
    {"ResizeBilinear", k2, resize_bilinear},
    {"ResizeNearestNeighbor", k2, resize_nearest},
    {"ResizeBicubic", k2, resize_bicubic},
};

}  // namespace

const std::span<const OpRow> kImageRows = kRows;

}  // namespace ec::tf
