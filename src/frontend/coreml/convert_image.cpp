// Images sampled at computed places, and suppression of boxes.
#include "frontend/coreml/sampling.h"
#include "frontend/coreml/table.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

// --- grids ---------------------------------------------------------------------------------------

// Width and height as [2] in the type of the coordinates.
Tensor* extent(OpCall& c, Tensor* x, DType dtype) {
  return c.cast(c.shape_list({Size(x, 3), Size(x, 2)}), dtype);
}

enum class Unit : uint8_t {
  Pixels,
  Corners,
  Edges
};  // [-1, 1] from corner to corner, edge to edge

// Coordinates (x, y) in another unit.
Tensor* in_unit(OpCall& c, Tensor* at, Tensor* x, Unit from, Unit to) {
  if (from == to) return at;
  Tensor* size = extent(c, x, at->dtype());
  Tensor* last = c.add(OpKind::Max, {c.minus(size, 1.0), c.like(size, 1)});
  if (from == Unit::Corners) at = c.times(c.times(c.plus(at, 1.0), last), 0.5);
  if (from == Unit::Edges) at = c.times(c.minus(c.times(c.plus(at, 1.0), size), 1.0), 0.5);
  if (to == Unit::Corners) return c.minus(c.over(c.times(at, 2.0), last), 1.0);
  if (to == Unit::Edges) return c.minus(c.over(c.plus(c.times(at, 2.0), 1.0), size), 1.0);
  return at;
}

// What lies outside of the image.
struct Outside {
  BorderMode border = BorderMode::Zeros;
  Unit unit = Unit::Corners;  // the unit in which the IR folds coordinates as they are meant
  double value = 0;
};

Outside read_outside(OpCall& c, Unit given) {
  const std::string mode = c.text("padding_mode", "constant");
  Outside outside;
  outside.unit = given == Unit::Edges ? Unit::Edges : Unit::Corners;
  if (mode == "constant") {
    outside.value = c.number("padding_value", 0);
  } else if (mode == "border") {
    outside.border = BorderMode::Border;
  } else if (mode == "reflection" || mode == "symmetric") {
    outside.border = BorderMode::Reflection;
    outside.unit = mode == "reflection" ? Unit::Corners : Unit::Edges;
  } else {
    c.unsupported("what lies outside of the mode '" + printable(mode, 40) + "'");
  }
  return outside;
}

Tensor* sample(OpCall& c, Tensor* x, Tensor* grid, ResizeMode mode, const Outside& outside) {
  GridSampleAttrs attrs;
  attrs.mode = mode;
  attrs.padding = outside.border;
  attrs.align_corners = outside.unit == Unit::Corners;
  if (outside.value == 0) return c.add(OpKind::GridSample, {x, grid}, attrs);
  // Zeros outside stand for the value when it is taken off before and put back behind.
  return c.plus(c.add(OpKind::GridSample, {c.minus(x, outside.value), grid}, attrs), outside.value);
}

ResizeMode read_mode(OpCall& c) {
  const std::string mode = c.text("sampling_mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest")
    c.unsupported("samples of the mode '" + printable(mode, 40) + "'");
  return mode == "nearest" ? ResizeMode::Nearest : ResizeMode::Linear;
}

Unit read_unit(OpCall& c, bool& zero_to_one) {
  const std::string mode = c.text("coordinates_mode", "unnormalized");
  zero_to_one = mode == "normalized_zero_to_one";
  if (mode == "unnormalized") return Unit::Pixels;
  if (mode != "normalized_minus_one_to_one" && !zero_to_one)
    c.unsupported("coordinates of the mode '" + printable(mode, 60) + "'");
  return c.flag("align_corners", true) ? Unit::Corners : Unit::Edges;
}

Tensors resample(OpCall& c) {
  Tensor* x = c.in("x");
  Tensor* at = c.to_float(c.in("coordinates"));
  if (c.rank(x) != 4) return {c.fail(Code::ShapeMismatch, "the operand is no image")};
  bool zero_to_one = false;
  const Unit unit = read_unit(c, zero_to_one);
  if (zero_to_one) at = c.minus(c.times(at, 2.0), 1.0);
  const Outside outside = read_outside(c, unit);
  return {sample(c, x, in_unit(c, at, x, unit, outside.unit), read_mode(c), outside)};
}

Tensors affine(OpCall& c) {
  Tensor *x = c.in("x"), *matrix = c.in("transform_matrix");
  if (c.rank(x) != 4) return {c.fail(Code::ShapeMismatch, "the operand is no image")};
  bool zero_to_one = false;
  const Unit unit = read_unit(c, zero_to_one);
  if (unit == Unit::Pixels || zero_to_one)
    return {c.unsupported("affine maps of coordinates other than -1 to 1")};
  AffineGridAttrs attrs;
  attrs.align_corners = unit == Unit::Corners;
  Tensor* theta = c.expand(c.reshape(matrix, {-1, 2, 3}), {Size(x, 0), 2, 3});
  Tensor* sizes =
      c.shape_list({Size(x, 0), Size(x, 1), c.integer("output_height"), c.integer("output_width")});
  Tensor* grid = c.add(OpKind::AffineGrid, {theta, sizes}, attrs);
  const Outside outside = read_outside(c, unit);
  return {sample(c, x, in_unit(c, grid, x, unit, outside.unit), read_mode(c), outside)};
}

// --- boxes ---------------------------------------------------------------------------------------

// `count` positions between begin and end of each box, [N, 1] each: [N, count].
Tensor* positions(OpCall& c, Tensor* begin, Tensor* end, int64_t count, Sampling sampling) {
  std::vector<float> steps;
  for (int64_t i = 0; i < count; ++i) steps.push_back(static_cast<float>(i));
  Tensor* i = c.cast(c.floats(Shape{1, count}, steps), begin->dtype());
  Tensor* length = c.minus(end, begin);
  const auto n = static_cast<double>(count);
  const auto inside = [&](Tensor* at) {
    return c.add(OpKind::Max, {c.add(OpKind::Min, {at, end}), begin});
  };
  switch (sampling) {
    case Sampling::Align:
      if (count == 1) return c.plus(begin, c.times(length, 0.5));
      [[fallthrough]];
    case Sampling::StrictAlign:
      return c.plus(begin, c.times(c.times(i, length), count > 1 ? 1.0 / (n - 1) : 0.0));
    case Sampling::Unalign:
      return inside(c.plus(
          begin, c.minus(c.times(c.times(c.plus(i, 0.5), c.plus(length, 1.0)), 1.0 / n), 0.5)));
    case Sampling::Offset: {
      Tensor* wide = c.add(OpKind::Max, {length, c.like(length, 1)});
      return inside(c.plus(begin, c.times(c.times(c.plus(i, 0.5), wide), 1.0 / n)));
    }
    case Sampling::Default:
      break;
  }
  return inside(c.plus(begin, c.times(c.times(i, c.plus(length, 1.0)), 1.0 / n)));
}

struct Boxes {
  Tensor *top = nullptr, *left = nullptr, *bottom = nullptr, *right = nullptr;  // [N, 1]
};

// Boxes [N, 4] in pixels.
Boxes read_boxes(OpCall& c, Tensor* x, Tensor* boxes) {
  const std::string mode = c.text("box_coordinate_mode", "CORNERS_HEIGHT_FIRST");
  const bool center = mode.starts_with("CENTER_SIZE");
  const bool width_first = mode.ends_with("WIDTH_FIRST");
  Tensors parts = c.split(boxes, 1, 4);
  if (!c.ok() || parts.size() != 4) return {boxes, boxes, boxes, boxes};
  if (width_first) {
    std::swap(parts[0], parts[1]);
    std::swap(parts[2], parts[3]);
  }
  if (center)
    for (size_t i = 0; i < 2; ++i) {
      Tensor* half = c.times(parts[i + 2], 0.5);
      parts[i + 2] = c.plus(parts[i], half);
      parts[i] = c.minus(parts[i], half);
    }
  const double scale = c.number("spatial_scale", 1);
  const bool normalized = c.flag("normalized_coordinates", false);
  for (size_t i = 0; i < 4; ++i) {
    if (normalized) {
      Tensor* size = c.cast(c.shape_list({Size(x, i % 2 == 0 ? 2 : 3)}), boxes->dtype());
      parts[i] = c.times(parts[i], c.minus(size, 1.0));
    }
    if (scale != 1) parts[i] = c.times(parts[i], scale);
  }
  return {parts[0], parts[1], parts[2], parts[3]};
}

// One part of an image for each box: images [N, C, H, W] and boxes [N, 4] give [N, C, h, w].
Tensor* crop_and_resize(OpCall& c, Tensor* images, Tensor* boxes) {
  const int64_t height = c.integer("target_height", 1), width = c.integer("target_width", 1);
  if (!c.ok() || height < 1 || width < 1 || height > (1 << 16) || width > (1 << 16))
    return c.fail(Code::BadValue, "the target size is out of range");
  if (!c.afford(height + width)) return boxes;
  const Sampling sampling = read_sampling(c);
  boxes = c.cast(boxes, DType::F32);
  const Boxes b = read_boxes(c, images, boxes);
  Tensor* y = c.unsqueeze(positions(c, b.top, b.bottom, height, sampling), {2});
  Tensor* x = c.unsqueeze(positions(c, b.left, b.right, width, sampling), {1});
  const Sizes all = {Size(boxes, 0), height, width};
  Tensor* at = c.stack({c.expand(x, all), c.expand(y, all)}, 3);
  Outside outside;
  outside.value = c.number("pad_value", 0);
  return sample(c, images, in_unit(c, at, images, Unit::Pixels, Unit::Corners), ResizeMode::Linear,
                outside);
}

// Boxes [N, 1, 4, 1, 1] for every image, or [N, 1, 5, 1, 1] with the number of the image in front.
Tensors crop_resize_15(OpCall& c) {
  Tensor *x = c.in("x"), *roi = c.in("roi");
  if (c.rank(x) != 4 || c.rank(roi) != 5)
    return {c.fail(Code::ShapeMismatch, "crop_resize needs images and boxes")};
  const int64_t columns = c.size(roi, 2);
  if (columns != 4 && columns != 5)
    return {c.fail(Code::ShapeMismatch, "boxes have four numbers, or five with the image's")};
  Tensor* rows = c.reshape(roi, {Size(roi, 0), columns});
  if (columns == 5) {
    Tensor* image = c.cast(c.reshape(c.slice(rows, 1, 0, 1), {-1}), DType::I32);
    Tensor* y = crop_and_resize(c, c.gather(x, image, 0), c.slice(rows, 1, 1, 5));
    return {c.unsqueeze(y, {1})};
  }
  // Every box of every image: boxes are the outer dimension.
  const int64_t count = c.size(roi, 0), batch = c.size(x, 0);
  if (!c.ok() || count > (1 << 16) || batch > (1 << 16))
    return {c.fail(Code::TooLarge, "too many boxes or images")};
  if (!c.afford(2 * count * batch)) return {x};
  Ints images, boxes;
  for (int64_t n = 0; n < count; ++n)
    for (int64_t i = 0; i < batch; ++i) {
      images.push_back(i);
      boxes.push_back(n);
    }
  Tensor* y =
      crop_and_resize(c, c.gather(x, c.int_list(images), 0), c.gather(rows, c.int_list(boxes), 0));
  return {c.reshape(y, {count, batch, Size(y, 1), Size(y, 2), Size(y, 3)})};
}

Tensors crop_resize_17(OpCall& c) {
  Tensor *x = c.in("x"), *boxes = c.in("boxes");
  if (c.rank(x) != 4 || c.rank(boxes) != 2)
    return {c.fail(Code::ShapeMismatch, "crop_resize needs images and boxes")};
  if (Tensor* image = c.maybe("box_indices")) x = c.gather(x, c.cast(image, DType::I32), 0);
  return {crop_and_resize(c, x, boxes)};
}

// --- suppression ---------------------------------------------------------------------------------

// Boxes [n, B, 4] and scores [n, B, K] of one image, best first; places behind the last box hold
// the last one's scores as zeros.
struct Selected {
  Tensor *boxes, *scores, *indices, *count;
};

Selected suppress(OpCall& c, Tensor* boxes, Tensor* scores, std::optional<double> threshold) {
  const int64_t limit = c.integer("max_boxes");
  const bool per_class = c.flag("per_class_suppression", false);
  if (!c.ok() || limit < 1 || limit > (1 << 20) || c.size(boxes, 0) != 1)
    c.unsupported("suppression for other than one image at a time");
  if (per_class && c.size(scores, 2) != 1)
    c.unsupported("suppression class by class with several classes");
  // Boxes compete by their best score.
  Tensor* best = c.cast(c.reduce(OpKind::ReduceMax, scores, {2}, true), DType::F32);
  NmsAttrs attrs;
  attrs.center_boxes = true;
  Tensors inputs = {c.cast(boxes, DType::F32), c.transpose(best, {0, 2, 1}),
                    c.scalar(DType::I64, static_cast<double>(limit)),
                    c.scalar(DType::F32, c.number("iou_threshold"))};
  if (threshold) inputs.push_back(c.scalar(DType::F32, *threshold));
  Tensor* rows = c.add(OpKind::NonMaxSuppression, std::move(inputs), attrs);
  Tensor* chosen = c.reshape(c.slice(rows, 1, 2, 3), {-1});
  Tensor* count = c.add(OpKind::Shape, {chosen}, ShapeAttrs{});
  // Behind the last box: index -1, boxes and scores of zeros.
  Tensor* missing = c.minus(c.int_list({limit}), count);
  PadAttrs pad;
  const auto padded = [&](Tensor* x, double value) {
    Tensor* pads = c.concat({c.int_list({0}), missing}, 0);
    return c.add(OpKind::Pad, {x, pads, c.like(x, value), c.int_list({0})}, pad);
  };
  const auto rows_of = [&](Tensor* x) {
    Tensor* picked = c.gather(c.squeeze(x, {0}), chosen, 0);
    return c.reshape(padded(picked, 0), {1, limit, Size(x, 2)});
  };
  Tensor* indices = c.reshape(padded(chosen, -1), {1, limit});
  return {rows_of(boxes), rows_of(scores), indices, count};
}

Tensors nms_15(OpCall& c) {
  const Selected s = suppress(c, c.in("boxes"), c.in("scores"), c.number("score_threshold"));
  return {s.boxes, s.scores, s.indices, s.count};
}

// The boxes are the last dimension.
Tensors nms_17(OpCall& c) {
  const Selected s = suppress(c, c.transpose(c.in("boxes"), {0, 2, 1}),
                              c.transpose(c.in("scores"), {0, 2, 1}), std::nullopt);
  return {c.transpose(s.boxes, {0, 2, 1}), c.transpose(s.scores, {0, 2, 1}), s.indices};
}

constexpr std::string_view kSample =
    "x coordinates sampling_mode padding_mode padding_value coordinates_mode align_corners";

constexpr OpRow kRows[] = {
    {"resample", kIos15, kSample, resample},
    {"affine", kIos15,
     "x transform_matrix output_height output_width sampling_mode padding_mode padding_value "
     "coordinates_mode align_corners",
     affine},
    {"crop_resize", kIos15,
     "x roi target_height? target_width? normalized_coordinates? spatial_scale? "
     "box_coordinate_mode? sampling_mode? pad_value?",
     crop_resize_15},
    {"crop_resize", kIos17,
     "x boxes box_indices? target_height? target_width? normalized_coordinates? spatial_scale? "
     "box_coordinate_mode? sampling_mode? pad_value?",
     crop_resize_17},
    {"non_maximum_suppression", kIos15,
     "boxes scores iou_threshold score_threshold max_boxes per_class_suppression?", nms_15},
    {"non_maximum_suppression", kIos17,
     "boxes scores iou_threshold max_boxes per_class_suppression?", nms_17},
};

}  // namespace

const std::span<const OpRow> kImageRows = kRows;

}  // namespace ec::mil
