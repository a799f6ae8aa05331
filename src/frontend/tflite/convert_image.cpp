// Resizing, blocks of pixels, suppression of boxes.
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

Status resize(OpContext& ctx, ResizeAttrs attrs) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != 4) return ctx.fail(Code::ShapeMismatch, "the input has to have 4 dimensions");
  attrs.axes = {1, 2};
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(1));
  return ctx.finish(OpKind::Resize, {ctx.in(0), nullptr, nullptr, sizes}, attrs);
}

template <class Options>
CoordinateMode coordinates(const Options& options) {
  if (options.align_corners()) return CoordinateMode::AlignCorners;
  return options.half_pixel_centers() ? CoordinateMode::HalfPixel : CoordinateMode::Asymmetric;
}

Status resize_bilinear(OpContext& ctx) {
  ResizeAttrs attrs;
  attrs.mode = ResizeMode::Linear;
  attrs.coordinates = coordinates(ctx.options<ResizeBilinearOptions>());
  return resize(ctx, attrs);
}

Status resize_nearest(OpContext& ctx) {
  const auto& options = ctx.options<ResizeNearestNeighborOptions>();
  ResizeAttrs attrs;
  attrs.mode = ResizeMode::Nearest;
  attrs.coordinates = coordinates(options);
  // floor((x + 0.5) * scale) is the half-pixel coordinate rounded up at halves.
  attrs.nearest = attrs.coordinates == CoordinateMode::Asymmetric ? NearestMode::Floor
                                                                  : NearestMode::RoundPreferCeil;
  return resize(ctx, attrs);
}

template <OpKind kKind, class Options, class A>
Status blocks(OpContext& ctx) {
  A attrs;
  attrs.block = ctx.options<Options>().block_size();
  attrs.layout = Layout::ChannelsLast;
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

// Block shape and pads or crops are lists of numbers and of pairs.
template <OpKind kKind>
Status batch_blocks(OpContext& ctx) {
  EC_TRY(ec::Tensor * block, ctx.as_i64(1));
  EC_TRY(ec::Tensor * pairs, ctx.cast(ctx.in(2), DType::I64));
  if (const auto known = known_ints(ctx.in(2)); known && ctx.in(2)->shape())
    pairs = ctx.graph().add_constant<int64_t>("", *ctx.in(2)->shape(), *known);
  return ctx.finish(kKind, {ctx.in(0), block, pairs});
}

// The selected boxes, as many as asked for: unused entries hold 0.
Status non_max_suppression(OpContext& ctx) {
  const bool soft = ctx.num_inputs() > 5;
  if (soft) {
    const auto sigma = known_scalar(ctx.in(5));
    if (!sigma || *sigma != 0.0)
      return ctx.unsupported("suppression that lowers scores (sigma above 0) is not supported");
  }
  EC_TRY(const int64_t limit, ctx.need_int(2, "max_output_size"));
  if (limit < 0 || limit > (1 << 24))
    return ctx.fail(Code::BadValue, std::to_string(limit) + " boxes to select");
  EC_TRY(ec::Tensor * boxes, ctx.unsqueeze(ctx.in(0), std::vector<int64_t>{0}));
  EC_TRY(ec::Tensor * scores, ctx.unsqueeze(ctx.in(1), std::vector<int64_t>{0, 1}));
  EC_TRY(ec::Tensor * found,
         ctx.add(OpKind::NonMaxSuppression,
                 {boxes, scores, ctx.ints({limit}), ctx.in(3), ctx.in(4)}, NmsAttrs{}));
  GatherAttrs last;
  last.axis = 1;
  EC_TRY(ec::Tensor * indices, ctx.add(OpKind::Gather, {found, ctx.scalar(DType::I64, 2)}, last));
  ShapeAttrs first;
  first.end = 1;
  EC_TRY(ec::Tensor * count, ctx.add(OpKind::Shape, {indices}, first));
  EC_TRY(ec::Tensor * missing, ctx.add(OpKind::Sub, {ctx.ints({limit}), count}));
  EC_TRY(ec::Tensor * pads, ctx.add(OpKind::Concat, {ctx.ints({0}), missing}, AxisAttrs{}));
  EC_TRY(ec::Tensor * padded, ctx.add(OpKind::Pad, {indices, pads}, PadAttrs{}));
  EC_TRY(ec::Tensor * selected, ctx.cast(padded, DType::I32));
  EC_CHECK_OK(ctx.set(0, selected));
  size_t next = 1;
  if (soft) {
    EC_TRY(ec::Tensor * best, ctx.add(OpKind::Gather, {ctx.in(1), indices}, GatherAttrs{}));
    EC_TRY(best, ctx.add(OpKind::Pad, {best, pads}, PadAttrs{}));
    EC_CHECK_OK(ctx.set(next++, best));
  }
  EC_TRY(count, ctx.cast(count, DType::I32));
  EC_TRY(count, ctx.reshape(count, std::vector<int64_t>{}));
  return ctx.set(next, count);
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {BuiltinOperator::RESIZE_BILINEAR, k2, k1, resize_bilinear},
    {BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, k2, k1, resize_nearest},
    {BuiltinOperator::DEPTH_TO_SPACE, k1, k1,
     blocks<OpKind::DepthToSpace, DepthToSpaceOptions, DepthToSpaceAttrs>},
    {BuiltinOperator::SPACE_TO_DEPTH, k1, k1,
     blocks<OpKind::SpaceToDepth, SpaceToDepthOptions, SpaceToDepthAttrs>},
    {BuiltinOperator::SPACE_TO_BATCH_ND, {3, 3}, k1, batch_blocks<OpKind::SpaceToBatch>},
    {BuiltinOperator::BATCH_TO_SPACE_ND, {3, 3}, k1, batch_blocks<OpKind::BatchToSpace>},
    {BuiltinOperator::NON_MAX_SUPPRESSION_V4, {5, 5}, k2, non_max_suppression},
    {BuiltinOperator::NON_MAX_SUPPRESSION_V5, {6, 6}, {3, 3}, non_max_suppression},
};

}  // namespace

const std::span<const OpRow> kImageRows = kRows;

}  // namespace ec::tflite
