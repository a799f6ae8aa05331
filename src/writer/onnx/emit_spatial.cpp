// Convolution, pooling, images. ONNX knows channels-first only: channels-last ops are written
// between transpositions.
#include "writer/onnx/emitter.h"

namespace ec::onnx {
namespace {

void add_ints(AttributeList& a, std::string_view name, const std::vector<int64_t>& values) {
  if (!values.empty()) a.add(name, std::span<const int64_t>(values));
}

template <class A>
AttributeList window_attributes(const A& attrs) {
  constexpr std::string_view kModes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  AttributeList a;
  if (attrs.auto_pad != AutoPad::Explicit)
    a.add("auto_pad", kModes[static_cast<size_t>(attrs.auto_pad)]);
  else
    add_ints(a, "pads", attrs.pads);
  add_ints(a, "strides", attrs.strides);
  add_ints(a, "dilations", attrs.dilations);
  return a;
}

// One image op in either layout: node(x, result) writes it for channels first.
template <class F>
Status in_layout(OpEmitter& e, Layout layout, F&& write) {
  if (layout == Layout::ChannelsFirst) return write(e.in(0), e.out());
  EC_TRY(const size_t rank, e.rank(e.op().input(0)));
  if (rank < 3) return write(e.in(0), e.out());  // both orders are the same
  const std::string x = e.transpose(e.in(0), to_channels_first(rank));
  const std::string y = e.temp();
  EC_CHECK_OK(write(x, y));
  e.transpose_to(y, to_channels_last(rank), e.out());
  return {};
}

Status need_float(OpEmitter& e) {
  if (!is_float(e.dtype())) return e.fail("the operands are integers");
  if (e.dtype(1) != e.dtype()) return e.fail("the weights have another type than the values");
  return {};
}

// Weights [O, k..., I] to [O, I, k...].
Result<std::string> weights(OpEmitter& e, Layout layout) {
  if (layout == Layout::ChannelsFirst) return e.in(1);
  EC_TRY(const size_t rank, e.rank(e.op().input(1)));
  return e.transposed_operand(1, to_channels_first(rank));
}

// What follows a weighted sum: residual, then activation.
void finish_sum(OpEmitter& e, const std::string& residual, Activation activation, float alpha,
                float beta, const std::string& sum, const std::string& result) {
  std::string x = sum;
  if (!residual.empty()) {
    const bool last = activation == Activation::None;
    const std::string joined = last ? result : e.temp();
    e.node("Add", {x, residual}, {joined});
    if (last) return;
    x = joined;
  }
  e.activation(activation, alpha, beta, e.op().output()->dtype(), x, result);
}

Status conv(OpEmitter& e) {
  const auto& attrs = e.attrs<ConvAttrs>();
  EC_CHECK_OK(need_float(e));
  EC_TRY(const std::string w, weights(e, attrs.layout));
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    std::string residual = e.in(3);
    if (!residual.empty() && attrs.layout == Layout::ChannelsLast) {
      EC_TRY(const size_t rank, e.rank(e.op().input(3)));
      residual = e.transpose(residual, to_channels_first(rank));
    }
    const bool plain = residual.empty() && attrs.activation == Activation::None;
    AttributeList a = window_attributes(attrs);
    if (attrs.groups != 1) a.add("group", attrs.groups);
    const std::string sum = plain ? y : e.temp();
    e.node("Conv", {x, w, e.in(2)}, {sum}, std::move(a));
    if (!plain) finish_sum(e, residual, attrs.activation, attrs.act_alpha, attrs.act_beta, sum, y);
    return {};
  });
}

Status conv_transpose(OpEmitter& e) {
  const auto& attrs = e.attrs<ConvTransposeAttrs>();
  EC_CHECK_OK(need_float(e));
  EC_TRY(const std::string w, weights(e, attrs.layout));
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    const bool plain = attrs.activation == Activation::None;
    AttributeList a = window_attributes(attrs);
    if (attrs.groups != 1) a.add("group", attrs.groups);
    add_ints(a, "output_padding", attrs.output_padding);
    add_ints(a, "output_shape", attrs.output_sizes);
    const std::string sum = plain ? y : e.temp();
    e.node("ConvTranspose", {x, w, e.in(2)}, {sum}, std::move(a));
    if (!plain) finish_sum(e, {}, attrs.activation, attrs.act_alpha, attrs.act_beta, sum, y);
    return {};
  });
}

Status deform_conv(OpEmitter& e) {
  const auto& attrs = e.attrs<DeformConvAttrs>();
  AttributeList a;
  add_ints(a, "strides", attrs.strides);
  add_ints(a, "dilations", attrs.dilations);
  add_ints(a, "pads", attrs.pads);
  a.add("group", attrs.groups);
  a.add("offset_group", attrs.offset_groups);
  e.node("DeformConv", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status col2im(OpEmitter& e) {
  const auto& attrs = e.attrs<Col2ImAttrs>();
  AttributeList a;
  add_ints(a, "strides", attrs.strides);
  add_ints(a, "dilations", attrs.dilations);
  add_ints(a, "pads", attrs.pads);
  e.node("Col2Im", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status pool(OpEmitter& e) {
  const auto& attrs = e.attrs<PoolAttrs>();
  const bool max = e.op().kind() == OpKind::MaxPool;
  if (attrs.layout == Layout::ChannelsLast && e.op().outputs().size() > 1)
    return e.fail("indices of channels-last pooling");
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a = window_attributes(attrs);
    add_ints(a, "kernel_shape", attrs.kernel);
    if (attrs.ceil_mode) a.add("ceil_mode", int64_t{1});
    if (!max && attrs.count_include_pad) a.add("count_include_pad", int64_t{1});
    if (max && attrs.column_major_indices) a.add("storage_order", int64_t{1});
    std::vector<std::string> results = {y};
    if (e.op().outputs().size() > 1) results.push_back(e.out(1));
    e.node(max ? "MaxPool" : "AveragePool", {x}, std::move(results), std::move(a));
    return {};
  });
}

Status lp_pool(OpEmitter& e) {
  const auto& attrs = e.attrs<LpPoolAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a = window_attributes(attrs);
    add_ints(a, "kernel_shape", attrs.kernel);
    if (attrs.ceil_mode) a.add("ceil_mode", int64_t{1});
    a.add("p", attrs.p);
    e.node("LpPool", {x}, {y}, std::move(a));
    return {};
  });
}

Status global_pool(OpEmitter& e) {
  const bool max = e.op().kind() == OpKind::GlobalMaxPool;
  return in_layout(e, e.attrs<GlobalPoolAttrs>().layout,
                   [&](const std::string& x, const std::string& y) -> Status {
                     e.node(max ? "GlobalMaxPool" : "GlobalAveragePool", {x}, {y});
                     return {};
                   });
}

Status max_unpool(OpEmitter& e) {
  const auto& attrs = e.attrs<MaxUnpoolAttrs>();
  AttributeList a;
  add_ints(a, "kernel_shape", attrs.kernel);
  add_ints(a, "strides", attrs.strides);
  add_ints(a, "pads", attrs.pads);
  e.node("MaxUnpool", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status max_roi_pool(OpEmitter& e) {
  AttributeList a;
  add_ints(a, "pooled_shape", e.attrs<MaxRoiPoolAttrs>().pooled);
  a.add("spatial_scale", e.attrs<MaxRoiPoolAttrs>().spatial_scale);
  e.node("MaxRoiPool", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status roi_align(OpEmitter& e) {
  const auto& attrs = e.attrs<RoiAlignAttrs>();
  AttributeList a;
  a.add("output_height", attrs.output_height);
  a.add("output_width", attrs.output_width);
  a.add("sampling_ratio", attrs.sampling_ratio);
  a.add("spatial_scale", attrs.spatial_scale);
  a.add("mode", std::string_view(attrs.max_mode ? "max" : "avg"));
  a.add("coordinate_transformation_mode",
        std::string_view(attrs.half_pixel ? "half_pixel" : "output_half_pixel"));
  e.node("RoiAlign", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status resize(OpEmitter& e) {
  const auto& attrs = e.attrs<ResizeAttrs>();
  AttributeList a;
  a.add("mode", enum_text(attrs.mode));
  a.add("coordinate_transformation_mode", enum_text(attrs.coordinates));
  if (attrs.mode == ResizeMode::Nearest) a.add("nearest_mode", enum_text(attrs.nearest));
  if (attrs.mode == ResizeMode::Cubic) a.add("cubic_coeff_a", attrs.cubic_a);
  if (attrs.exclude_outside) a.add("exclude_outside", int64_t{1});
  if (attrs.extrapolation_value != 0.0f) a.add("extrapolation_value", attrs.extrapolation_value);
  if (attrs.antialias) a.add("antialias", int64_t{1});
  add_ints(a, "axes", attrs.axes);
  if (attrs.aspect != AspectPolicy::Stretch)
    a.add("keep_aspect_ratio_policy", enum_text(attrs.aspect));
  e.node("Resize", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status grid_sample(OpEmitter& e) {
  const auto& attrs = e.attrs<GridSampleAttrs>();
  AttributeList a;
  a.add("mode", enum_text(attrs.mode));
  a.add("padding_mode", enum_text(attrs.padding));
  a.add("align_corners", int64_t{attrs.align_corners});
  e.node("GridSample", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status affine_grid(OpEmitter& e) {
  AttributeList a;
  a.add("align_corners", int64_t{e.attrs<AffineGridAttrs>().align_corners});
  e.node("AffineGrid", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status depth_to_space(OpEmitter& e) {
  const auto& attrs = e.attrs<DepthToSpaceAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a;
    a.add("blocksize", attrs.block);
    a.add("mode", std::string_view(attrs.order == DepthOrder::Dcr ? "DCR" : "CRD"));
    e.node("DepthToSpace", {x}, {y}, std::move(a));
    return {};
  });
}

Status space_to_depth(OpEmitter& e) {
  const auto& attrs = e.attrs<SpaceToDepthAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a;
    a.add("blocksize", attrs.block);
    const auto channels = channels_of_crd(e.op());
    if (!channels) {
      if (attrs.order != DepthOrder::Dcr) a.add("mode", std::string_view("CRD"));
      e.node("SpaceToDepth", {x}, {y}, std::move(a));
      return {};
    }
    // Channel by channel the two orders are the same, and the other one has always been there.
    const int64_t single[] = {-1, 1, 0, 0};
    const int64_t joined[] = {-1, *channels * attrs.block * attrs.block, 0, 0};
    const std::string pixels = e.step("Reshape", {x, e.ints(single)});
    const std::string blocks = e.step("SpaceToDepth", {pixels}, std::move(a));
    e.node("Reshape", {blocks, e.ints(joined)}, {y});
    return {};
  });
}

Status non_max_suppression(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<NmsAttrs>().center_boxes) a.add("center_point_box", int64_t{1});
  e.node("NonMaxSuppression", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status batch_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<BatchNormAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a;
    a.add("epsilon", attrs.epsilon);
    if (attrs.training) {
      a.add("momentum", attrs.momentum);
      a.add("training_mode", int64_t{1});
    }
    std::vector<std::string> operands = e.inputs(), results = e.outputs();
    operands[0] = x;
    results[0] = y;
    // Statistics that the run does not change are no results in ONNX.
    std::vector<std::string> kept;
    if (!attrs.training) {
      kept.assign(results.begin() + 1, results.end());
      results.resize(1);
    }
    e.node("BatchNormalization", std::move(operands), std::move(results), std::move(a));
    for (size_t i = 0; i < kept.size(); ++i) e.node("Identity", {e.in(3 + i)}, {kept[i]});
    return {};
  });
}

Status instance_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<InstanceNormAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a;
    a.add("epsilon", attrs.epsilon);
    e.node("InstanceNormalization", {x, e.in(1), e.in(2)}, {y}, std::move(a));
    return {};
  });
}

Status group_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<GroupNormAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a;
    a.add("epsilon", attrs.epsilon);
    a.add("num_groups", attrs.groups);
    e.node("GroupNormalization", {x, e.in(1), e.in(2)}, {y}, std::move(a));
    return {};
  });
}

Status lrn(OpEmitter& e) {
  const auto& attrs = e.attrs<LrnAttrs>();
  return in_layout(e, attrs.layout, [&](const std::string& x, const std::string& y) -> Status {
    AttributeList a;
    a.add("size", attrs.size);
    a.add("alpha", attrs.alpha);
    a.add("beta", attrs.beta);
    a.add("bias", attrs.bias);
    e.node("LRN", {x}, {y}, std::move(a));
    return {};
  });
}

constexpr WriteRow kRows[] = {
    {OpKind::Conv, conv},
    {OpKind::ConvTranspose, conv_transpose},
    {OpKind::DeformConv, deform_conv},
    {OpKind::Col2Im, col2im},
    {OpKind::MaxPool, pool},
    {OpKind::AvgPool, pool},
    {OpKind::LpPool, lp_pool},
    {OpKind::GlobalAvgPool, global_pool},
    {OpKind::GlobalMaxPool, global_pool},
    {OpKind::MaxUnpool, max_unpool},
    {OpKind::MaxRoiPool, max_roi_pool},
    {OpKind::RoiAlign, roi_align},
    {OpKind::Resize, resize},
    {OpKind::GridSample, grid_sample},
    {OpKind::AffineGrid, affine_grid},
    {OpKind::DepthToSpace, depth_to_space},
    {OpKind::SpaceToDepth, space_to_depth},
    {OpKind::NonMaxSuppression, non_max_suppression},
    {OpKind::BatchNorm, batch_norm},
    {OpKind::InstanceNorm, instance_norm},
    {OpKind::GroupNorm, group_norm},
    {OpKind::Lrn, lrn},
};

}  // namespace

const std::span<const WriteRow> kWriteSpatial = kRows;

std::optional<int64_t> channels_of_crd(const Operation& op) {
  const auto& attrs = op.attrs_as<SpaceToDepthAttrs>();
  const std::optional<Shape>& shape = op.input(0)->shape();
  if (attrs.order == DepthOrder::Dcr || !shape || shape->rank() != 4) return std::nullopt;
  const Dim& channels = (*shape)[attrs.layout == Layout::ChannelsLast ? 3 : 1];
  // No elements: a -1 could stand for anything.
  const auto elements = op.input(0)->type().num_elements();
  if (!channels.is_static() || channels.size() == 0 || elements == 0) return std::nullopt;
  return channels.size();
}

}  // namespace ec::onnx
