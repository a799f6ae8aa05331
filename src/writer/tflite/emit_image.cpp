// Images: pooling, resizing, rearranging.
#include <algorithm>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"
#include "writer/tflite/padding.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// Steps beyond the range lead out of every image, and so does the largest one.
int32_t narrow(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

Status emit_pool(OpEmitter& e) {
  const auto& attrs = e.attrs<PoolAttrs>();
  const bool average = e.op().kind() == OpKind::AvgPool;
  if (attrs.layout != Layout::ChannelsLast || !e.input(0).shape() || e.rank() != 4)
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  if (e.op().outputs().size() > 1 && !e.graph().graph().is_unused(e.op().output(1)))
    return e.fail("the indices of the largest elements");
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  const auto padding = padding_of(e.input(0), spec);
  if (!padding || (average && *padding == Padding::SAME && attrs.count_include_pad))
    return e.fail("pads that are neither SAME nor VALID", std::string(kPipelineHint));
  if (spec.dilations[0] != 1 || spec.dilations[1] != 1) return e.fail("dilated windows");
  const auto fused = e.graph().fuse(e.op());
  e.add(average ? Op::AVERAGE_POOL_2D : Op::MAX_POOL_2D, {e.in(0)},
        {e.graph().tensor(fused.result)},
        options(
            BuiltinOptions::Pool2DOptions,
            CreatePool2DOptions(e.fbb(), *padding, narrow(spec.strides[1]), narrow(spec.strides[0]),
                                narrow(spec.kernel[1]), narrow(spec.kernel[0]), fused.activation)));
  return {};
}

// The legaliser leaves only the coordinate modes that the two operators have, over height and
// width.
Status emit_resize(OpEmitter& e) {
  const auto& attrs = e.attrs<ResizeAttrs>();
  EC_CHECK_OK(e.require_static(*e.op().output()));
  if (e.rank() != 4) return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  const std::vector<int64_t> sizes = e.op().output()->shape()->sizes();
  const Shape& from = *e.input(0).shape();
  if (from[0] != Dim(sizes[0]) || from[3] != Dim(sizes[3]))
    return e.fail("other sizes of the batch or the channels", std::string(kPipelineHint));
  const int32_t target = e.ints(std::span(sizes).subspan(1, 2));
  const bool corners = attrs.coordinates == CoordinateMode::AlignCorners;
  const bool half = attrs.coordinates == CoordinateMode::HalfPixel;
  if (attrs.mode == ResizeMode::Linear)
    e.add(Op::RESIZE_BILINEAR, {e.in(0), target}, {e.out()},
          options(BuiltinOptions::ResizeBilinearOptions,
                  CreateResizeBilinearOptions(e.fbb(), corners, half)),
          half ? 3 : 1);
  else if (attrs.mode == ResizeMode::Nearest)
    e.add(Op::RESIZE_NEAREST_NEIGHBOR, {e.in(0), target}, {e.out()},
          options(BuiltinOptions::ResizeNearestNeighborOptions,
                  CreateResizeNearestNeighborOptions(e.fbb(), corners, half)),
          half || corners ? 3 : 1);
  else
    return e.fail("cubic interpolation", std::string(kPipelineHint));
  return {};
}

Status emit_depth_to_space(OpEmitter& e) {
  const auto& attrs = e.attrs<DepthToSpaceAttrs>();
  if (attrs.layout != Layout::ChannelsLast || attrs.order != DepthOrder::Dcr || e.rank() != 4)
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  e.add(Op::DEPTH_TO_SPACE, {e.in(0)}, {e.out()},
        options(BuiltinOptions::DepthToSpaceOptions,
                CreateDepthToSpaceOptions(e.fbb(), narrow(attrs.block))));
  return {};
}

Status emit_space_to_depth(OpEmitter& e) {
  const auto& attrs = e.attrs<SpaceToDepthAttrs>();
  if (attrs.layout != Layout::ChannelsLast || attrs.order != DepthOrder::Dcr || e.rank() != 4)
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  e.add(Op::SPACE_TO_DEPTH, {e.in(0)}, {e.out()},
        options(BuiltinOptions::SpaceToDepthOptions,
                CreateSpaceToDepthOptions(e.fbb(), narrow(attrs.block))));
  return {};
}

// Over 2 radius + 1 channels; the factor is per channel here, per window in the IR.
Status emit_lrn(OpEmitter& e) {
  const auto& attrs = e.attrs<LrnAttrs>();
  if (attrs.layout != Layout::ChannelsLast || attrs.size % 2 == 0 || e.rank() != 4)
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  // Windows wider than the channels see them all; readers take a radius of a sane size.
  int64_t radius = attrs.size / 2;
  if (const Dim& channels = (*e.input(0).shape())[3]; channels.is_static())
    radius = std::min(radius, channels.size());
  e.add(Op::LOCAL_RESPONSE_NORMALIZATION, {e.in(0)}, {e.out()},
        options(BuiltinOptions::LocalResponseNormalizationOptions,
                CreateLocalResponseNormalizationOptions(
                    e.fbb(), narrow(radius), attrs.bias,
                    attrs.alpha / static_cast<float>(attrs.size), attrs.beta)));
  return {};
}

// Over the last dimension; runtimes put a floor of 1e-6 under the sum of squares.
Status emit_l2_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<LpNormAttrs>();
  if (attrs.p != 2 || !e.input(0).shape() ||
      positive_axis(attrs.axis, e.rank()) + 1 != static_cast<int64_t>(e.rank()))
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  e.add(Op::L2_NORMALIZATION, {e.in(0)}, {e.out()},
        options(BuiltinOptions::L2NormOptions, CreateL2NormOptions(e.fbb())));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::MaxPool, emit_pool},
    {OpKind::AvgPool, emit_pool},
    {OpKind::Resize, emit_resize},
    {OpKind::DepthToSpace, emit_depth_to_space},
    {OpKind::SpaceToDepth, emit_space_to_depth},
    {OpKind::Lrn, emit_lrn},
    {OpKind::LpNorm, emit_l2_norm},
};

}  // namespace

const std::span<const EmitRow> kEmitImage = kRows;

}  // namespace ec::tflite
