// Resizes of images whose sizes are open: by whole factors, or to the sizes of another tensor.
#include <cmath>

#include "writer/coreml/emitter.h"
#include "writer/coreml/forms.h"
#include "writer/coreml/resize_forms.h"
#include "writer/coreml/sizes.h"

namespace ec::mil {
namespace {

// Sizes at which rules are compared in place of all.
constexpr int64_t kTried[] = {2, 3, 5, 8, 13, 32};

// The factors of height and width; nothing where others change too.
std::optional<std::vector<double>> factors_of(const Operation& op) {
  const auto& attrs = op.attrs_as<ResizeAttrs>();
  const auto rank = static_cast<int64_t>(op.input(0)->shape()->rank());
  const Tensor* scales = op.input(2);
  if (scales == nullptr || !scales->is_constant() || scales->type().num_elements() == 0)
    return std::nullopt;
  const std::vector<float> given = float_values(scales);
  std::vector<double> all(static_cast<size_t>(rank), 1.0);
  for (size_t i = 0; i < given.size(); ++i) {
    const int64_t axis = attrs.axes.empty() ? static_cast<int64_t>(i) : attrs.axes[i];
    all[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = double{given[i]};
  }
  for (size_t d = 0; d + 2 < all.size(); ++d)
    if (all[d] != 1.0) return std::nullopt;
  return std::vector<double>(all.end() - 2, all.end());
}

// Whether nothing but the last two dimensions changes, by sizes.
bool keeps_others(const Operation& op) {
  const Shape &x = *op.input(0)->shape(), &y = *op.output()->shape();
  const auto& attrs = op.attrs_as<ResizeAttrs>();
  const auto rank = static_cast<int64_t>(x.rank());
  for (size_t d = 0; d + 2 < x.rank(); ++d) {
    bool resized = attrs.axes.empty();
    for (const int64_t axis : attrs.axes)
      resized = resized || (axis < 0 ? axis + rank : axis) == static_cast<int64_t>(d);
    if (resized && !x[d].same_size(y[d])) return false;
  }
  return true;
}

// The positions of height and width within the list of sizes.
std::optional<int64_t> position_of(const ResizeAttrs& attrs, int64_t rank, int64_t axis) {
  if (attrs.axes.empty()) return axis;
  for (size_t i = 0; i < attrs.axes.size(); ++i)
    if ((attrs.axes[i] < 0 ? attrs.axes[i] + rank : attrs.axes[i]) == axis)
      return static_cast<int64_t>(i);
  return std::nullopt;
}

template <class Outputs>
bool same_everywhere(const ResizeAttrs& attrs, const ResizeAttrs& other, Outputs&& outputs) {
  for (const int64_t input : kTried)
    for (const auto& [output, scale] : outputs(input)) {
      ResizeAxis axis;
      axis.input = input;
      axis.output = output;
      axis.scale = scale;
      if (!same_taps(attrs, axis, other)) return false;
    }
  return true;
}

using Outputs = std::vector<std::pair<int64_t, double>>;

// What the attributes are called in programs; nothing: programs have no such rule.
template <class OutputsOf>
std::optional<std::string_view> rule_of(const ResizeAttrs& attrs, OutputsOf&& outputs) {
  if (attrs.mode == ResizeMode::Nearest) {
    const ResizeAttrs floor = resize_rule(ResizeMode::Nearest, CoordinateMode::Asymmetric);
    return same_everywhere(attrs, floor, outputs) ? std::optional<std::string_view>("")
                                                  : std::nullopt;
  }
  for (const Sampling& sampling : kSamplings)
    if (same_everywhere(attrs, resize_rule(ResizeMode::Linear, sampling.coordinates), outputs))
      return sampling.name;
  return std::nullopt;
}

}  // namespace

std::optional<OpenResize> open_resize_of(const Operation& op) {
  const auto& attrs = op.attrs_as<ResizeAttrs>();
  const Tensor *x = op.input(0), *y = op.output();
  if (!x->shape() || !y->shape() || x->shape()->rank() < 3 || !is_float(x->dtype()))
    return std::nullopt;
  if ((x->type().is_static() && y->type().is_static()) || op.input(1) != nullptr ||
      attrs.aspect != AspectPolicy::Stretch || attrs.antialias ||
      (attrs.mode != ResizeMode::Nearest && attrs.mode != ResizeMode::Linear))
    return std::nullopt;
  OpenResize form;
  if (const auto factors = factors_of(op)) {
    for (size_t i = 0; i < 2; ++i) {
      const double factor = (*factors)[i];
      if (!(factor >= 1) || factor > 64 || factor != std::round(factor)) return std::nullopt;
      form.factors[i] = static_cast<int64_t>(factor);
    }
    const auto rule = rule_of(attrs, [&](int64_t input) {
      Outputs outputs;
      for (const int64_t factor : form.factors)
        outputs.emplace_back(input * factor, static_cast<double>(factor));
      return outputs;
    });
    if (!rule) return std::nullopt;
    form.sampling = *rule;
    return form;
  }
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  if (op.input(3) == nullptr || !keeps_others(op) || !position_of(attrs, rank, rank - 2) ||
      !position_of(attrs, rank, rank - 1))
    return std::nullopt;
  const auto rule = rule_of(attrs, [](int64_t input) {
    Outputs outputs;
    for (const int64_t output : kTried)
      outputs.emplace_back(output, static_cast<double>(output) / static_cast<double>(input));
    return outputs;
  });
  if (!rule) return std::nullopt;
  form.sampling = *rule;
  return form;
}

Status emit_open_resize(OpEmitter& e, const OpenResize& form) {
  const bool nearest = form.sampling.empty();
  if (form.factors[0] != 0) {
    const auto factor = [&](size_t i) {
      return e.real(static_cast<double>(form.factors[i]), DataType::Float32);
    };
    std::vector<Arg> args{
        {"x", e.in(0)}, {"scale_factor_height", factor(0)}, {"scale_factor_width", factor(1)}};
    if (!nearest) {
      args.emplace_back("align_corners", e.flag(form.sampling == "STRICT_ALIGN_CORNERS"));
      args.emplace_back("half_pixel_centers", e.flag(form.sampling == "UNALIGN_CORNERS"));
    }
    e.emit(nearest ? "upsample_nearest_neighbor" : "upsample_bilinear", std::move(args));
    return {};
  }
  EC_CHECK_OK(e.need(kCoremlIos17, "a resize to computed sizes"));
  const auto& attrs = e.attrs<ResizeAttrs>();
  const auto rank = static_cast<int64_t>(e.rank());
  SizeList sizes(e);
  const auto known = int_values(e.input(3));
  for (const int64_t axis : {rank - 2, rank - 1}) {
    const int64_t at = position_of(attrs, rank, axis).value_or(0);
    if (known)
      sizes.add((*known)[static_cast<size_t>(at)]);
    else
      sizes.add_element(e.in(3), at);
  }
  const uint32_t two = 2;
  const std::string count = e.constant(ValueType::tensor(DataType::UInt32),
                                       Blob::copy_of(std::span<const uint32_t>(&two, 1)));
  e.emit("resize", {{"x", e.in(0)},
                    {"shape", std::move(sizes).take()},
                    {"resized_dims", count},
                    {"interpolation_mode", e.text(nearest ? "NEAREST_NEIGHBOR" : "LINEAR")},
                    {"sampling_mode", e.text(nearest ? "DEFAULT" : form.sampling)}});
  return {};
}

}  // namespace ec::mil
