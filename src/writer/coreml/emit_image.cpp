// Resizes and the operations that move pixels between channels and space.
#include <cmath>

#include "ops/resize_taps.h"
#include "writer/coreml/emitter.h"
#include "writer/coreml/forms.h"
#include "writer/coreml/resize_forms.h"

namespace ec::mil {

ResizeAttrs resize_rule(ResizeMode mode, CoordinateMode coordinates) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates;
  attrs.nearest = NearestMode::Floor;
  return attrs;
}

bool same_taps(const ResizeAttrs& attrs, const ResizeAxis& axis, const ResizeAttrs& other) {
  if (axis.is_identity(attrs.coordinates)) return true;
  ResizeAxis plain = axis;
  plain.scale = static_cast<double>(axis.output) / static_cast<double>(axis.input);
  if (!has_small_taps(attrs, axis) || !has_small_taps(other, plain)) return false;
  const ResizeTaps a = resize_taps(attrs, axis), b = resize_taps(other, plain);
  if (a.per_output != b.per_output || !a.outside.empty() || a.index.size() != b.index.size())
    return false;
  for (size_t i = 0; i < a.index.size(); ++i) {
    const bool read = std::abs(a.weight[i]) > 1e-6 || std::abs(b.weight[i]) > 1e-6;
    if (read && (a.index[i] != b.index[i] || std::abs(a.weight[i] - b.weight[i]) > 1e-6))
      return false;
  }
  return true;
}

namespace {

std::optional<ConstView> view_of(const Tensor* tensor, std::vector<int64_t>& shape) {
  if (tensor == nullptr || !tensor->is_constant()) return std::nullopt;
  shape = tensor->shape()->sizes();
  return ConstView{tensor->dtype(), shape, tensor->data().bytes().data()};
}

// What each axis of the graph's resize does; nothing where that is not known yet.
std::optional<std::vector<ResizeAxis>> axes_of(const Operation& op) {
  const Tensor *x = op.input(0), *y = op.output();
  if (!x->type().is_static() || !y->type().is_static()) return std::nullopt;
  if (x->shape()->num_elements() == 0) return std::nullopt;  // no pixel to take
  for (size_t i = 1; i < op.inputs().size(); ++i)
    if (op.input(i) != nullptr && !op.input(i)->is_constant()) return std::nullopt;
  std::vector<int64_t> shapes[3];
  const auto roi = view_of(op.input(1), shapes[0]), scales = view_of(op.input(2), shapes[1]),
             sizes = view_of(op.input(3), shapes[2]);
  const auto pointer = [](const std::optional<ConstView>& view) { return view ? &*view : nullptr; };
  return resize_axes(op.attrs_as<ResizeAttrs>(), x->shape()->sizes(), y->shape()->sizes(),
                     pointer(roi), pointer(scales), pointer(sizes));
}

bool same_on_all(const ResizeAttrs& attrs, std::span<const ResizeAxis> axes,
                 const ResizeAttrs& other) {
  for (const ResizeAxis& axis : axes)
    if (!same_taps(attrs, axis, other)) return false;
  return true;
}

// The operation that does a resize.
struct ResizeForm {
  ResizeAxis height, width;
  std::string_view sampling;  // of linear interpolation; empty: the nearest pixel
};
std::optional<ResizeForm> form_of(const Operation& op) {
  const auto& attrs = op.attrs_as<ResizeAttrs>();
  const auto all = axes_of(op);
  if (!all || all->size() < 3) return std::nullopt;
  for (size_t d = 0; d + 2 < all->size(); ++d)
    if (!(*all)[d].is_identity(attrs.coordinates)) return std::nullopt;
  const auto axes = std::span(*all).last(2);
  if (axes[0].input == 0 || axes[1].input == 0) return std::nullopt;
  ResizeForm form{axes[0], axes[1], ""};
  if (attrs.mode == ResizeMode::Nearest) {
    const ResizeAttrs floor = resize_rule(ResizeMode::Nearest, CoordinateMode::Asymmetric);
    const bool whole = axes[0].output % axes[0].input == 0 && axes[1].output % axes[1].input == 0;
    return whole && same_on_all(attrs, axes, floor) ? std::optional(form) : std::nullopt;
  }
  for (const Sampling& sampling : kSamplings) {
    const ResizeAttrs linear = resize_rule(ResizeMode::Linear, sampling.coordinates);
    if (attrs.mode != ResizeMode::Linear || !same_on_all(attrs, axes, linear)) continue;
    form.sampling = sampling.name;
    return form;
  }
  return std::nullopt;
}

Status emit_resize(OpEmitter& e) {
  if (const auto open = open_resize_of(e.op())) return emit_open_resize(e, *open);
  const auto form = form_of(e.op());
  if (!form)
    return e.fail("an interpolation that programs do not have, or sizes that are not known",
                  "fix the sizes with --input-shape");
  if (form->sampling.empty()) {
    const auto factor = [&](const ResizeAxis& axis) {
      return e.real(static_cast<double>(axis.output / axis.input), DataType::Float32);
    };
    e.emit("upsample_nearest_neighbor", {{"x", e.in(0)},
                                         {"scale_factor_height", factor(form->height)},
                                         {"scale_factor_width", factor(form->width)}});
    return {};
  }
  e.emit("resize_bilinear", {{"x", e.in(0)},
                             {"target_size_height", e.i32(form->height.output)},
                             {"target_size_width", e.i32(form->width.output)},
                             {"sampling_mode", e.text(form->sampling)}});
  return {};
}

Status refuse_channels_last(OpEmitter& e, Layout layout) {
  if (layout == Layout::ChannelsFirst && e.rank() == 4) return {};
  return e.fail("images that are no [N, C, H, W]", std::string(kPipelineHint));
}

Status emit_depth_to_space(OpEmitter& e) {
  const auto& attrs = e.attrs<DepthToSpaceAttrs>();
  EC_CHECK_OK(refuse_channels_last(e, attrs.layout));
  if (attrs.order == DepthOrder::Crd)
    e.emit("pixel_shuffle", {{"x", e.in(0)}, {"upscale_factor", e.i32(attrs.block)}});
  else
    e.emit("depth_to_space", {{"x", e.in(0)}, {"block_size", e.i32(attrs.block)}});
  return {};
}

Status emit_space_to_depth(OpEmitter& e) {
  const auto& attrs = e.attrs<SpaceToDepthAttrs>();
  EC_CHECK_OK(refuse_channels_last(e, attrs.layout));
  if (attrs.order == DepthOrder::Dcr) {
    e.emit("space_to_depth", {{"x", e.in(0)}, {"block_size", e.i32(attrs.block)}});
    return {};
  }
  const auto block = static_cast<uint32_t>(attrs.block);
  const std::string factor = e.constant(ValueType::tensor(DataType::UInt32),
                                        Blob::copy_of(std::span<const uint32_t>(&block, 1)));
  e.emit("pixel_unshuffle", {{"x", e.in(0)}, {"downscale_factor", factor}});
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Resize, emit_resize},
    {OpKind::DepthToSpace, emit_depth_to_space},
    {OpKind::SpaceToDepth, emit_space_to_depth},
};

}  // namespace

const std::span<const EmitRow> kEmitImage = kRows;

}  // namespace ec::mil

namespace ec {

bool has_coreml_resize(const Operation& op) {
  return mil::form_of(op).has_value() || mil::open_resize_of(op).has_value();
}

}  // namespace ec
