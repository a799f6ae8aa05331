// Resizing, sampling, rearranging of pixels, and regions.
#include <algorithm>
#include <limits>

#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/table.h"
#include "ops/convert.h"

namespace ec::torch {
namespace {

// --- resizing ------------------------------------------------------------------------------------

ec::Tensor* scale_list(Call& c, const std::vector<double>& scales) {
  const std::vector<float> values(scales.begin(), scales.end());
  return c.floats(Shape{static_cast<int64_t>(values.size())}, values);
}

// The factors that are given decide where elements come from, else the sizes do.
Result<ec::Tensor*> resize(Call& c, ResizeAttrs attrs) {
  ec::Tensor* x = c.tensor(c.schema().args.front().name);
  const int64_t rank = c.rank(x);
  if (rank < 3) return c.fail(Code::ShapeMismatch, "the input has no spatial dimensions");
  for (int64_t i = 2; i < rank; ++i) attrs.axes.push_back(i);
  std::vector<double> scales;
  if (c.has("scale_factors")) scales = c.numbers("scale_factors");
  for (const char* name : {"scales_d", "scales_h", "scales_w", "scales"})
    if (c.has(name)) scales.push_back(c.number(name));
  const bool has_scales = scales.size() == attrs.axes.size();
  if (has_scales && std::ranges::all_of(scales, [](double s) { return s > 0; }) &&
      attrs.coordinates != CoordinateMode::AlignCorners)
    return c.add(OpKind::Resize, {x, nullptr, scale_list(c, scales)}, attrs);
  ec::Tensor* sizes = nullptr;
  if (c.has("output_size")) {
    EC_TRY(sizes, c.sizes("output_size"));
  } else {
    Ints known;
    for (size_t i = 0; i < scales.size() && i < attrs.axes.size(); ++i)
      known.push_back(saturate_to_int64(static_cast<double>(c.size(x, attrs.axes[i])) * scales[i]));
    sizes = c.int_list(known);
  }
  return c.add(OpKind::Resize, {x, nullptr, nullptr, sizes}, attrs);
}

Result<ec::Tensor*> nearest(Call& c) {
  ResizeAttrs attrs;
  attrs.coordinates = CoordinateMode::Asymmetric;
  attrs.nearest = NearestMode::Floor;
  return resize(c, attrs);
}

Result<ec::Tensor*> nearest_exact(Call& c) {
  ResizeAttrs attrs;
  attrs.nearest = NearestMode::RoundPreferCeil;
  return resize(c, attrs);
}

ResizeAttrs smooth(Call& c, ResizeMode mode) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  if (c.boolean("align_corners")) attrs.coordinates = CoordinateMode::AlignCorners;
  return attrs;
}

template <ResizeMode kMode>
Result<ec::Tensor*> interpolate(Call& c) {
  return resize(c, smooth(c, kMode));
}

template <ResizeMode kMode>
Result<ec::Tensor*> interpolate_antialiased(Call& c) {
  ResizeAttrs attrs = smooth(c, kMode);
  attrs.antialias = attrs.exclude_outside = true;
  attrs.cubic_a = -0.5f;  // this filter is PIL's, not the one without anti-aliasing
  return resize(c, attrs);
}

// --- sampling ------------------------------------------------------------------------------------

Result<ec::Tensor*> grid_sampler(Call& c) {
  constexpr ResizeMode kModes[] = {ResizeMode::Linear, ResizeMode::Nearest, ResizeMode::Cubic};
  const int64_t mode = c.integer("interpolation_mode"), padding = c.integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
    return c.fail(Code::BadValue, "mode out of range");
  GridSampleAttrs attrs;
  attrs.mode = kModes[mode];
  attrs.padding = static_cast<BorderMode>(padding);
  attrs.align_corners = c.boolean("align_corners");
  return c.add(OpKind::GridSample, {c.tensor("input"), c.tensor("grid")}, attrs);
}

Result<ec::Tensor*> affine_grid(Call& c) {
  AffineGridAttrs attrs;
  attrs.align_corners = c.boolean("align_corners");
  EC_TRY(ec::Tensor * sizes, c.sizes("size"));
  return c.add(OpKind::AffineGrid, {c.tensor("theta"), sizes}, attrs);
}

// --- pixels --------------------------------------------------------------------------------------

// The op on four dimensions; leading ones beyond that are joined, a missing one is added.
template <class F>
Result<ec::Tensor*> on_images(Call& c, ec::Tensor* x, F&& f) {
  const int64_t rank = c.rank(x);
  if (rank == 4) return f(x);
  if (rank < 3)
    return c.fail(Code::ShapeMismatch, "the input has no channels and spatial dimensions");
  Ints lead, joined = {-1};
  for (int64_t i = 0; i < rank - 3; ++i) lead.push_back(c.size(x, i));
  for (int64_t i = rank - 3; i < rank; ++i) joined.push_back(c.size(x, i));
  EC_TRY(ec::Tensor * images, c.reshape(x, joined));
  EC_TRY(ec::Tensor * y, f(images));
  for (int64_t i = 1; i < 4; ++i) lead.push_back(c.size(y, i));
  return c.reshape(y, lead);
}

Result<ec::Tensor*> pixel_shuffle(Call& c) {
  DepthToSpaceAttrs attrs;
  attrs.block = c.integer("upscale_factor");
  attrs.order = DepthOrder::Crd;
  return on_images(c, c.tensor("self"),
                   [&](ec::Tensor* x) { return c.add(OpKind::DepthToSpace, {x}, attrs); });
}

Result<ec::Tensor*> pixel_unshuffle(Call& c) {
  SpaceToDepthAttrs attrs;
  attrs.block = c.integer("downscale_factor");
  attrs.order = DepthOrder::Crd;
  return on_images(c, c.tensor("self"),
                   [&](ec::Tensor* x) { return c.add(OpKind::SpaceToDepth, {x}, attrs); });
}

Result<ec::Tensor*> channel_shuffle(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x), groups = c.integer("groups");
  if (rank < 3) return c.fail(Code::ShapeMismatch, "the input has no spatial dimensions");
  if (groups < 1 || c.size(x, 1) % groups != 0)
    return c.fail(Code::BadValue, "groups do not divide the channels");
  Ints shape, split;
  for (int64_t i = 0; i < rank; ++i) shape.push_back(c.size(x, i));
  split = shape;
  split[1] = groups;
  split.insert(split.begin() + 2, shape[1] / groups);
  EC_TRY(ec::Tensor * y, c.reshape(x, split));
  EC_TRY(y, c.swap_axes(y, 1, 2));
  return c.reshape(y, shape);
}

// Windows as columns: [N, C kh kw, windows].
Result<ec::Tensor*> im2col(Call& c) {
  const Ints kernel = c.ints("kernel_size", 2), dilation = c.ints("dilation", 2);
  const Ints padding = c.ints("padding", 2), stride = c.ints("stride", 2);
  ec::Tensor* x = c.tensor("self");
  const bool single = c.rank(x) == 3;
  if (single) {
    EC_TRY(x, c.unsqueeze(x, {0}));
  }
  EC_TRY(x, c.op("aten::constant_pad_nd",
                 {x, TorchValue::ints({padding[1], padding[1], padding[0], padding[0]})}));
  const int64_t batch = c.size(x, 0), channels = c.size(x, 1);
  Ints outputs;
  // Each axis becomes two: position in the window, window.
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = c.size(x, static_cast<int64_t>(2 + 2 * i));
    if (kernel[i] > kMaxIndices || dilation[i] > kMaxIndices || dilation[i] < 1)
      return c.fail(Code::BadValue, "windows do not fit");
    const int64_t span = dilation[i] * (kernel[i] - 1) + 1;
    if (kernel[i] < 1 || stride[i] < 1 || span > size || span < 1)
      return c.fail(Code::BadValue, "windows do not fit");
    const int64_t count = (size - span) / stride[i] + 1;
    if (count > kMaxIndices / kernel[i]) return c.fail(Code::TooLarge, "too many windows");
    Ints index;
    for (int64_t k = 0; k < kernel[i]; ++k)
      for (int64_t o = 0; o < count; ++o) index.push_back(o * stride[i] + k * dilation[i]);
    EC_TRY(ec::Tensor * indices, c.reshape(c.int_list(index), Ints{kernel[i], count}));
    EC_TRY(x, c.gather(x, indices, static_cast<int64_t>(2 + 2 * i)));
    outputs.push_back(count);
  }
  EC_TRY(x, c.transpose(x, {0, 1, 2, 4, 3, 5}));
  EC_TRY(x, c.reshape(x, Ints{batch, channels * kernel[0] * kernel[1], outputs[0] * outputs[1]}));
  return single ? c.squeeze(x, {0}) : Result<ec::Tensor*>(x);
}

Result<ec::Tensor*> col2im(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const bool single = c.rank(x) == 2;
  if (single) {
    EC_TRY(x, c.unsqueeze(x, {0}));
  }
  Col2ImAttrs attrs;
  attrs.strides = c.ints("stride", 2);
  attrs.dilations = c.ints("dilation", 2);
  const Ints padding = c.ints("padding", 2);
  attrs.pads = {padding[0], padding[1], padding[0], padding[1]};
  EC_TRY(ec::Tensor * y,
         c.add(OpKind::Col2Im,
               {x, c.int_list(c.ints("output_size", 2)), c.int_list(c.ints("kernel_size", 2))},
               attrs));
  return single ? c.squeeze(y, {0}) : Result<ec::Tensor*>(y);
}

// --- regions (torchvision) -----------------------------------------------------------------------

// Rows of boxes are [image, x1, y1, x2, y2].
Result<ec::Tensor*> roi_align(Call& c) {
  RoiAlignAttrs attrs;
  attrs.output_height = c.integer("pooled_height");
  attrs.output_width = c.integer("pooled_width");
  attrs.sampling_ratio = std::max<int64_t>(c.integer("sampling_ratio"), 0);
  attrs.spatial_scale = static_cast<float>(c.number("spatial_scale"));
  attrs.half_pixel = c.boolean("aligned");
  ec::Tensor* rois = c.tensor("rois");
  EC_TRY(ec::Tensor * image, c.gather(rois, c.scalar(DType::I64, 0), 1));
  EC_TRY(image, c.cast(image, DType::I64));
  EC_TRY(ec::Tensor * boxes, c.slice(rois, 1, 1, 5));
  return c.add(OpKind::RoiAlign, {c.tensor("input"), boxes, image}, attrs);
}

Result<std::vector<TorchValue>> roi_pool(Call& c) {
  MaxRoiPoolAttrs attrs;
  attrs.pooled = {c.integer("pooled_height"), c.integer("pooled_width")};
  attrs.spatial_scale = static_cast<float>(c.number("spatial_scale"));
  EC_TRY(ec::Tensor * y, c.add(OpKind::MaxRoiPool, {c.tensor("input"), c.tensor("rois")}, attrs));
  return std::vector<TorchValue>{y, TorchValue()};
}

Result<ec::Tensor*> nms(Call& c) {
  EC_TRY(ec::Tensor * boxes, c.unsqueeze(c.tensor("dets"), {0}));
  EC_TRY(ec::Tensor * scores, c.unsqueeze(c.tensor("scores"), {0, 1}));
  EC_TRY(ec::Tensor * chosen,
         c.add(OpKind::NonMaxSuppression,
               {boxes, scores, c.int_list({std::numeric_limits<int32_t>::max()}),
                scale_list(c, {c.number("iou_threshold")})},
               NmsAttrs{}));
  return c.gather(chosen, c.scalar(DType::I64, 2), 1);
}

Result<ec::Tensor*> deform_conv2d(Call& c) {
  DeformConvAttrs attrs;
  attrs.strides = {c.integer("stride_h"), c.integer("stride_w")};
  attrs.dilations = {c.integer("dilation_h"), c.integer("dilation_w")};
  attrs.pads = {c.integer("pad_h"), c.integer("pad_w"), c.integer("pad_h"), c.integer("pad_w")};
  attrs.groups = c.integer("groups");
  attrs.offset_groups = c.integer("offset_groups");
  ec::Tensor* mask = c.boolean("use_mask") ? c.tensor("mask") : nullptr;
  return c.add(OpKind::DeformConv,
               {c.tensor("input"), c.tensor("weight"), c.tensor("offset"), c.tensor("bias"), mask},
               attrs);
}

#define EC_VEC "(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor"
#define EC_VEC_ALIGN \
  "(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"
#define EC_1D(align) "(Tensor self, int[1] output_size, " align "float? scales=None) -> Tensor"
#define EC_2D(align)                                \
  "(Tensor self, int[2] output_size, " align        \
  "float? scales_h=None, float? scales_w=None) -> " \
  "Tensor"
#define EC_3D(align)                         \
  "(Tensor self, int[3] output_size, " align \
  "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
#define EC_ALIGN "bool align_corners, "

constexpr OperatorRow kRows[] = {
    {"aten::upsample_nearest1d.vec" EC_VEC, nearest},
    {"aten::upsample_nearest2d.vec" EC_VEC, nearest},
    {"aten::upsample_nearest3d.vec" EC_VEC, nearest},
    {"aten::upsample_nearest1d" EC_1D(""), nearest},
    {"aten::upsample_nearest2d" EC_2D(""), nearest},
    {"aten::upsample_nearest3d" EC_3D(""), nearest},
    {"aten::_upsample_nearest_exact1d.vec" EC_VEC, nearest_exact},
    {"aten::_upsample_nearest_exact2d.vec" EC_VEC, nearest_exact},
    {"aten::_upsample_nearest_exact3d.vec" EC_VEC, nearest_exact},
    {"aten::_upsample_nearest_exact1d" EC_1D(""), nearest_exact},
    {"aten::_upsample_nearest_exact2d" EC_2D(""), nearest_exact},
    {"aten::_upsample_nearest_exact3d" EC_3D(""), nearest_exact},
    {"aten::upsample_linear1d.vec" EC_VEC_ALIGN, interpolate<ResizeMode::Linear>},
    {"aten::upsample_bilinear2d.vec" EC_VEC_ALIGN, interpolate<ResizeMode::Linear>},
    {"aten::upsample_trilinear3d.vec" EC_VEC_ALIGN, interpolate<ResizeMode::Linear>},
    {"aten::upsample_linear1d" EC_1D(EC_ALIGN), interpolate<ResizeMode::Linear>},
    {"aten::upsample_bilinear2d" EC_2D(EC_ALIGN), interpolate<ResizeMode::Linear>},
    {"aten::upsample_trilinear3d" EC_3D(EC_ALIGN), interpolate<ResizeMode::Linear>},
    {"aten::upsample_bicubic2d.vec" EC_VEC_ALIGN, interpolate<ResizeMode::Cubic>},
    {"aten::upsample_bicubic2d" EC_2D(EC_ALIGN), interpolate<ResizeMode::Cubic>},
    {"aten::_upsample_bilinear2d_aa.vec" EC_VEC_ALIGN, interpolate_antialiased<ResizeMode::Linear>},
    {"aten::_upsample_bilinear2d_aa" EC_2D(EC_ALIGN), interpolate_antialiased<ResizeMode::Linear>},
    {"aten::_upsample_bicubic2d_aa.vec" EC_VEC_ALIGN, interpolate_antialiased<ResizeMode::Cubic>},
    {"aten::_upsample_bicubic2d_aa" EC_2D(EC_ALIGN), interpolate_antialiased<ResizeMode::Cubic>},
    {"aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor",
     grid_sampler},
    {"aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor",
     grid_sampler},
    {"aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor",
     grid_sampler},
    {"aten::affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
     affine_grid},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", pixel_shuffle},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", pixel_unshuffle},
    {"aten::channel_shuffle(Tensor self, int groups) -> Tensor", channel_shuffle},
    {"aten::native_channel_shuffle(Tensor self, int groups) -> Tensor", channel_shuffle},
    {"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
     "int[2] stride) -> Tensor",
     im2col},
    {"aten::col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, "
     "int[2] padding, int[2] stride) -> Tensor",
     col2im},
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
     "int pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     roi_align},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
     "int pooled_width) -> (Tensor, Tensor)",
     roi_pool},
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", nms},
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, "
     "Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, "
     "int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor",
     deform_conv2d},
};

}  // namespace

const std::span<const OperatorRow> kVisionRows = kRows;

}  // namespace ec::torch
