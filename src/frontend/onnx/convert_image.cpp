// Resizing, sampling and boxes.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

// Unused inputs of Resize are often empty tensors.
ec::Tensor* unless_empty(ec::Tensor* tensor) {
  return tensor != nullptr && tensor->type().num_elements() == 0 ? nullptr : tensor;
}

Status resize(NodeContext& ctx) {
  ResizeAttrs attrs;
  attrs.mode = ctx.attr_enum("mode", ResizeMode::Nearest);
  attrs.coordinates = ctx.attr_enum("coordinate_transformation_mode", CoordinateMode::HalfPixel);
  attrs.nearest = ctx.attr_enum("nearest_mode", NearestMode::RoundPreferFloor);
  attrs.cubic_a = ctx.attr_float("cubic_coeff_a", -0.75f);
  attrs.exclude_outside = ctx.attr_bool("exclude_outside", false);
  attrs.extrapolation_value = ctx.attr_float("extrapolation_value", 0.0f);
  attrs.antialias = ctx.attr_bool("antialias", false);
  attrs.axes = ctx.attr_ints("axes");
  attrs.aspect = ctx.attr_enum("keep_aspect_ratio_policy", AspectPolicy::Stretch);
  ec::Tensor* roi = unless_empty(ctx.in(1));
  ec::Tensor* scales = unless_empty(ctx.in(2));
  ec::Tensor* sizes = unless_empty(ctx.in(3));
  if (scales == nullptr && sizes == nullptr)
    return ctx.fail(Code::BadArity, "one of 'scales' and 'sizes' has to be given");
  if (scales != nullptr && sizes != nullptr)
    return ctx.fail(Code::BadArity, "only one of 'scales' and 'sizes' may be given");
  if (attrs.coordinates != CoordinateMode::CropAndResize) roi = nullptr;
  return ctx.finish(OpKind::Resize, {ctx.in(0), roi, scales, sizes}, attrs);
}

// Resize of opset 10 and Upsample: coordinates are scaled from the corner, and rounded down.
ResizeAttrs plain_resize_attrs(NodeContext& ctx) {
  constexpr std::string_view kModes[] = {"nearest", "linear", "bilinear"};
  ResizeAttrs attrs;
  attrs.mode = ctx.attr_choice("mode", kModes, 0) == 0 ? ResizeMode::Nearest : ResizeMode::Linear;
  attrs.coordinates = CoordinateMode::Asymmetric;
  attrs.nearest = NearestMode::Floor;
  return attrs;
}

Status plain_resize(NodeContext& ctx) {
  return ctx.finish(OpKind::Resize, {ctx.in(0), nullptr, ctx.in(1)}, plain_resize_attrs(ctx));
}

Status upsample_by_attribute(NodeContext& ctx) {
  std::vector<float> scales;
  if (ctx.version() < 7)
    scales = {1.0f, 1.0f, ctx.attr_float("height_scale", 1.0f),
              ctx.attr_float("width_scale", 1.0f)};
  else
    scales = ctx.attr_floats("scales");
  ec::Tensor* factors = ctx.graph().add_constant<float>(
      "", Shape{static_cast<int64_t>(scales.size())}, std::span<const float>(scales));
  return ctx.finish(OpKind::Resize, {ctx.in(0), nullptr, factors}, plain_resize_attrs(ctx));
}

Status grid_sample(NodeContext& ctx) {
  // "bilinear" and "bicubic" are the names before opset 20.
  constexpr std::string_view kModes[] = {"nearest", "linear", "cubic", "bilinear", "bicubic"};
  constexpr ResizeMode kMeanings[] = {ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic,
                                      ResizeMode::Linear, ResizeMode::Cubic};
  GridSampleAttrs attrs;
  attrs.mode = kMeanings[ctx.attr_choice("mode", kModes, 1)];
  attrs.padding = ctx.attr_enum("padding_mode", BorderMode::Zeros);
  attrs.align_corners = ctx.attr_bool("align_corners", false);
  return ctx.finish(OpKind::GridSample, ctx.tensors(), attrs);
}

Status affine_grid(NodeContext& ctx) {
  AffineGridAttrs attrs;
  attrs.align_corners = ctx.attr_bool("align_corners", false);
  return ctx.finish(OpKind::AffineGrid, ctx.tensors(), attrs);
}

constexpr std::string_view kDepthOrders[] = {"DCR", "CRD"};

Status depth_to_space(NodeContext& ctx) {
  DepthToSpaceAttrs attrs;
  attrs.block = ctx.attr_int("blocksize");
  attrs.order = static_cast<DepthOrder>(ctx.attr_choice("mode", kDepthOrders, 0));
  return ctx.finish(OpKind::DepthToSpace, {ctx.in(0)}, attrs);
}

Status space_to_depth(NodeContext& ctx) {
  SpaceToDepthAttrs attrs;
  attrs.block = ctx.attr_int("blocksize");
  attrs.order = static_cast<DepthOrder>(ctx.attr_choice("mode", kDepthOrders, 0));
  return ctx.finish(OpKind::SpaceToDepth, {ctx.in(0)}, attrs);
}

Status non_max_suppression(NodeContext& ctx) {
  NmsAttrs attrs;
  attrs.center_boxes = ctx.attr_bool("center_point_box", false);
  return ctx.finish(OpKind::NonMaxSuppression, ctx.tensors(), attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {"Resize", 10, 10, k2, k1, plain_resize},
    {"Resize", 11, kLatest, {1, 4}, k1, resize},
    {"Upsample", 1, 8, k1, k1, upsample_by_attribute},
    {"Upsample", 9, 9, k2, k1, plain_resize},
    {"GridSample", 16, kLatest, k2, k1, grid_sample},
    {"AffineGrid", 20, kLatest, k2, k1, affine_grid},
    {"DepthToSpace", 1, kLatest, k1, k1, depth_to_space},
    {"SpaceToDepth", 1, kLatest, k1, k1, space_to_depth},
    {"NonMaxSuppression", 10, kLatest, {2, 5}, k1, non_max_suppression},
};

}  // namespace

const std::span<const OpRow> kImageRows = kRows;

}  // namespace ec::onnx
