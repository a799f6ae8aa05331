// Images of another size. Core ML's five ways to place samples: four are ways of the IR's resize,
// the fifth becomes two gathers and their weighted sum.
#include <cmath>

#include "frontend/coreml/sampling.h"
#include "frontend/coreml/table.h"
#include "support/checked.h"
#include "support/strings.h"

namespace ec::mil {

Sampling read_sampling(OpCall& c) {
  const std::string mode = c.text("sampling_mode", "DEFAULT");
  if (mode == "DEFAULT") return Sampling::Default;
  if (mode == "STRICT_ALIGN_CORNERS") return Sampling::StrictAlign;
  if (mode == "ALIGN_CORNERS") return Sampling::Align;
  if (mode == "UNALIGN_CORNERS") return Sampling::Unalign;
  if (mode == "OFFSET_CORNERS") return Sampling::Offset;
  c.unsupported("samples of the mode '" + printable(mode, 40) + "'");
  return Sampling::Default;
}

namespace {

constexpr int64_t kMostSize = int64_t{1} << 20;

// Linear samples of one axis at (i + 0.5) * max(1, in - 1) / out.
Tensor* offset_axis(OpCall& c, Tensor* x, int64_t axis, int64_t out) {
  const int64_t in = c.size(x, axis);
  if (!c.ok() || in < 1 || out < 1 || out > kMostSize)
    return c.fail(Code::BadValue, "a size of the image is out of range");
  if (!c.afford(4 * out)) return x;
  const double step = static_cast<double>(std::max<int64_t>(1, in - 1)) / static_cast<double>(out);
  Ints low, high;
  std::vector<float> fraction;
  for (int64_t i = 0; i < out; ++i) {
    const double at =
        std::clamp((static_cast<double>(i) + 0.5) * step, 0.0, static_cast<double>(in - 1));
    low.push_back(static_cast<int64_t>(std::floor(at)));
    high.push_back(std::min(low.back() + 1, in - 1));
    fraction.push_back(static_cast<float>(at - std::floor(at)));
  }
  Sizes sizes = {out};
  for (int64_t i = axis + 1, n = c.rank(x); i < n; ++i) sizes.emplace_back(1);
  Tensor* weight = c.reshape(c.cast(c.floats(Shape{out}, fraction), x->dtype()), sizes);
  Tensor *a = c.gather(x, c.int_list(low), axis), *b = c.gather(x, c.int_list(high), axis);
  return c.plus(a, c.times(c.minus(b, a), weight));
}

CoordinateMode coordinates_of(Sampling sampling) {
  switch (sampling) {
    case Sampling::StrictAlign:
    case Sampling::Align:
      return CoordinateMode::AlignCorners;
    case Sampling::Unalign:
      return CoordinateMode::HalfPixel;
    default:
      return CoordinateMode::Asymmetric;
  }
}

// The last dimensions of x, as many as there are sizes, to these sizes.
Tensor* resize_to(OpCall& c, Tensor* x, const Ints& sizes, ResizeMode mode, Sampling sampling) {
  const int64_t dims = c.rank(x), first = dims - static_cast<int64_t>(sizes.size());
  if (!c.ok() || first < 0) return c.fail(Code::ShapeMismatch, "the sizes do not fit the operand");
  for (const int64_t size : sizes)
    if (size < 1 || size > kMostSize)
      return c.fail(Code::BadValue, "a size has to be from 1 to 2^20");
  const auto axis = [&](size_t i) { return first + static_cast<int64_t>(i); };
  if (sampling == Sampling::Offset && mode == ResizeMode::Linear) {
    for (size_t i = 0; i < sizes.size(); ++i) x = offset_axis(c, x, axis(i), sizes[i]);
    return x;
  }
  // Each axis has its own way where one of them is a single sample in the middle.
  if (sampling == Sampling::Align && std::find(sizes.begin(), sizes.end(), 1) != sizes.end()) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      ResizeAttrs attrs;
      attrs.mode = mode;
      attrs.coordinates = CoordinateMode::CropAndResize;
      attrs.axes = {axis(i)};
      const std::vector<float> roi = {0.0f, 1.0f};
      x = c.add(OpKind::Resize, {x, c.floats(Shape{2}, roi), nullptr, c.int_list({sizes[i]})},
                attrs);
    }
    return x;
  }
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates_of(sampling);
  if (sampling == Sampling::Default) attrs.nearest = NearestMode::Floor;
  for (size_t i = 0; i < sizes.size(); ++i) attrs.axes.push_back(axis(i));
  return c.add(OpKind::Resize, {x, nullptr, nullptr, c.int_list(sizes)}, attrs);
}

// The same to sizes that are computed, where 0 leaves a size as it is.
Tensor* resize_to_computed(OpCall& c, Tensor* x, Tensor* shape, int64_t count, ResizeMode mode,
                           Sampling sampling) {
  const int64_t dims = c.rank(x), given = c.size(shape, 0);
  if (!c.ok() || count < 1 || count > given || count > dims)
    return c.fail(Code::ShapeMismatch, "'resized_dims' does not fit the operand");
  if (sampling == Sampling::Offset || sampling == Sampling::Align)
    return c.unsupported("samples of this mode at computed sizes");
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates_of(sampling);
  if (sampling == Sampling::Default) attrs.nearest = NearestMode::Floor;
  std::vector<Size> own;
  for (int64_t i = dims - count; i < dims; ++i) {
    attrs.axes.push_back(i);
    own.emplace_back(x, i);
  }
  Tensor* sizes = c.slice(shape, 0, given - count, given);
  Tensor* stays = c.add(OpKind::Equal, {sizes, c.int_list({0})});
  sizes = c.where(stays, c.shape_list(own), sizes);
  return c.add(OpKind::Resize, {x, nullptr, nullptr, sizes}, attrs);
}

// The last two dimensions by factors.
Tensor* upsample(OpCall& c, ResizeMode mode, CoordinateMode coordinates) {
  Tensor* x = c.in("x");
  const int64_t dims = c.rank(x);
  if (dims < 2) return c.fail(Code::ShapeMismatch, "the operand is no image");
  const double factors[] = {c.number("scale_factor_height", 1), c.number("scale_factor_width", 1)};
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates;
  attrs.nearest = NearestMode::Floor;
  attrs.axes = {dims - 2, dims - 1};
  for (const double factor : factors)
    if (!(factor > 0 && factor < 1e6)) return c.fail(Code::BadValue, "a factor is out of range");
  if (!c.is_static(x, dims - 2) || !c.is_static(x, dims - 1)) {
    const std::vector<float> scales = {static_cast<float>(factors[0]),
                                       static_cast<float>(factors[1])};
    return c.add(OpKind::Resize, {x, nullptr, c.floats(Shape{2}, scales)}, attrs);
  }
  // The factors follow from the sizes, which are rounded down.
  Ints sizes;
  for (int64_t i = 0; i < 2; ++i) {
    const double size = std::floor(static_cast<double>(c.size(x, dims - 2 + i)) * factors[i]);
    if (size > static_cast<double>(kMaxTensorBytes))
      return c.fail(Code::TooLarge, "the image becomes too large");
    sizes.push_back(static_cast<int64_t>(size));
  }
  return c.add(OpKind::Resize, {x, nullptr, nullptr, c.int_list(sizes)}, attrs);
}

Tensors upsample_nearest_neighbor(OpCall& c) {
  return {upsample(c, ResizeMode::Nearest, CoordinateMode::Asymmetric)};
}

Tensors upsample_bilinear(OpCall& c) {
  const bool align = c.flag("align_corners", true);
  const bool half_pixel = c.flag("half_pixel_centers", !align);
  if (align && half_pixel) return {c.unsupported("aligned corners with half pixel centres")};
  return {upsample(c, ResizeMode::Linear,
                   align        ? CoordinateMode::AlignCorners
                   : half_pixel ? CoordinateMode::HalfPixel
                                : CoordinateMode::Asymmetric)};
}

Tensors resize_nearest_neighbor(OpCall& c) {
  const Ints sizes = {c.integer("target_size_height"), c.integer("target_size_width")};
  return {resize_to(c, c.in("x"), sizes, ResizeMode::Nearest, Sampling::Default)};
}

Tensors resize_bilinear(OpCall& c) {
  const Ints sizes = {c.integer("target_size_height", 1), c.integer("target_size_width", 1)};
  return {resize_to(c, c.in("x"), sizes, ResizeMode::Linear, read_sampling(c))};
}

// The last `resized_dims` of the list of sizes, where 0 leaves a size as it is.
Tensors resize(OpCall& c) {
  Tensor* x = c.in("x");
  const std::string mode = c.text("interpolation_mode", "LINEAR");
  if (mode != "LINEAR" && mode != "NEAREST_NEIGHBOR")
    return {c.unsupported("interpolation of the mode '" + printable(mode, 40) + "'")};
  const ResizeMode way = mode == "LINEAR" ? ResizeMode::Linear : ResizeMode::Nearest;
  const int64_t count = c.integer("resized_dims"), dims = c.rank(x);
  if (!c.known("shape"))
    return {resize_to_computed(c, x, c.as_i64(c.in("shape")), count, way, read_sampling(c))};
  const Ints shape = c.ints("shape");
  if (!c.ok() || count < 0 || count > static_cast<int64_t>(shape.size()) || count > dims)
    return {c.fail(Code::ShapeMismatch, "'resized_dims' does not fit the operand")};
  Ints sizes(shape.end() - count, shape.end());
  for (int64_t i = 0; i < count; ++i)
    if (sizes[static_cast<size_t>(i)] == 0)
      sizes[static_cast<size_t>(i)] = c.size(x, dims - count + i);
  return {resize_to(c, x, sizes, way, read_sampling(c))};
}

constexpr OpRow kRows[] = {
    {"upsample_nearest_neighbor", kIos15, "x scale_factor_height? scale_factor_width?",
     upsample_nearest_neighbor},
    {"upsample_bilinear", kIos15,
     "x scale_factor_height? scale_factor_width? align_corners? half_pixel_centers?",
     upsample_bilinear},
    {"resize_nearest_neighbor", kIos15, "x target_size_height target_size_width",
     resize_nearest_neighbor},
    {"resize_bilinear", kIos15, "x target_size_height? target_size_width? sampling_mode?",
     resize_bilinear},
    {"resize", kIos17, "x shape resized_dims interpolation_mode? sampling_mode?", resize},
};

}  // namespace

const std::span<const OpRow> kResizeRows = kRows;

}  // namespace ec::mil
