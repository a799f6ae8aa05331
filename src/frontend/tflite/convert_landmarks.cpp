// MediaPipe's landmark operators as formulas: a matrix that crops an image around landmarks, images
// and landmarks moved by it. Matrices are [1, 4, 4]; only their first two rows count.
#include <cmath>

#include "frontend/tflite/custom.h"
#include "frontend/tflite/importer.h"

namespace ec::tflite {
namespace {

// Writes a formula; the first error is kept and everything after it does nothing.
class Formula {
 public:
  explicit Formula(OpContext& ctx) : ctx_(ctx) {}

  ec::Tensor* op(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {}) {
    for (const ec::Tensor* input : inputs)
      if (input == nullptr) return nullptr;
    return keep(ctx_.add(kind, std::move(inputs), std::move(attrs)));
  }
  ec::Tensor* add(ec::Tensor* a, ec::Tensor* b) { return op(OpKind::Add, {a, b}); }
  ec::Tensor* sub(ec::Tensor* a, ec::Tensor* b) { return op(OpKind::Sub, {a, b}); }
  ec::Tensor* mul(ec::Tensor* a, ec::Tensor* b) { return op(OpKind::Mul, {a, b}); }
  ec::Tensor* add(ec::Tensor* a, double b) { return add(a, number(b)); }
  ec::Tensor* mul(ec::Tensor* a, double b) { return mul(a, number(b)); }
  ec::Tensor* neg(ec::Tensor* a) { return op(OpKind::Neg, {a}); }
  ec::Tensor* number(double value) { return ctx_.scalar(DType::F32, value); }
  ec::Tensor* reshape(ec::Tensor* x, std::vector<int64_t> sizes) {
    return x == nullptr ? nullptr : keep(ctx_.reshape(x, sizes));
  }
  // x[first, ...] of a list, as a list of one.
  ec::Tensor* rows(ec::Tensor* x, const std::vector<int64_t>& at, int64_t axis = 0) {
    GatherAttrs attrs;
    attrs.axis = axis;
    return op(OpKind::Gather, {x, ctx_.ints(at)}, attrs);
  }
  ec::Tensor* extreme(OpKind kind, ec::Tensor* list) {
    ReduceAttrs attrs;
    attrs.keep_dims = true;
    return op(kind, {list, ctx_.ints({0})}, attrs);
  }
  ec::Tensor* concat(std::vector<ec::Tensor*> parts, int64_t axis) {
    AxisAttrs attrs;
    attrs.axis = axis;
    return op(OpKind::Concat, std::move(parts), attrs);
  }
  ec::Tensor* constant(Shape shape, std::span<const float> values) {
    return ctx_.graph().add_constant<float>("", std::move(shape), values);
  }
  Status finish(ec::Tensor* result) {
    return status_.ok() ? ctx_.set(0, result) : std::move(status_);
  }

 private:
  ec::Tensor* keep(Result<ec::Tensor*> made) {
    if (made.ok()) return *made;
    if (status_.ok()) status_ = std::move(made).error();
    return nullptr;
  }
  OpContext& ctx_;
  Status status_;
};

Status need_floats(const OpContext& ctx, size_t i, int64_t least) {
  const auto count = ctx.in(i)->type().num_elements();
  if (count && *count >= least && ctx.dtype(i) == DType::F32) return {};
  return ctx.fail(Code::ShapeMismatch, "at least " + std::to_string(least) +
                                           " numbers of float32 and known sizes are needed, not " +
                                           ctx.in(i)->type().text());
}

// --- the matrix ----------------------------------------------------------------------------------

struct Subset {
  std::vector<int64_t> landmarks;
  int64_t left = 0, right = 0;  // the two that tell the rotation
};

Result<Subset> subset_of(const OpContext& ctx, const FlexMap& map, const char* key) {
  EC_CHECK_OK(need_floats(ctx, 0, 3));
  const int64_t count = *ctx.in(0)->type().num_elements() / 3;
  Subset subset;
  EC_TRY(subset.left, need_option(ctx, map, "left_rotation_idx", 0, count - 1));
  EC_TRY(subset.right, need_option(ctx, map, "right_rotation_idx", 0, count - 1));
  subset.landmarks = map.integers(key).value_or(std::vector<int64_t>{});
  if (subset.landmarks.empty())
    return ctx.fail(Code::BadAttribute, "option '" + std::string(key) + "' is missing or empty");
  for (const int64_t landmark : subset.landmarks)
    if (landmark < 0 || landmark >= count)
      return ctx.fail(Code::BadAttribute, "there is no landmark " + std::to_string(landmark));
  return subset;
}

Result<double> need_number(const OpContext& ctx, const FlexMap& map, const char* key) {
  const auto value = map.number(key);
  if (value && std::isfinite(*value)) return *value;
  return ctx.fail(Code::BadAttribute, "option '" + std::string(key) + "' is missing");
}

// One coordinate of some landmarks, as a list.
ec::Tensor* coordinate(Formula& f, ec::Tensor* landmarks, const std::vector<int64_t>& which,
                       int64_t axis) {
  return f.reshape(f.rows(f.rows(landmarks, which), {axis}, 1), {-1});
}

struct Point {
  ec::Tensor *x, *y;
};

// A point turned by an angle, of which cosine and sine are given.
Point turned(Formula& f, Point p, ec::Tensor* cosine, ec::Tensor* sine) {
  return {f.sub(f.mul(p.x, cosine), f.mul(p.y, sine)), f.add(f.mul(p.x, sine), f.mul(p.y, cosine))};
}

// The box around the landmarks in the turned image: its size, and its centre turned back.
struct Box {
  Point size, centre;
  ec::Tensor *cosine, *sine;  // of the angle that turns back
};
Box box_of(Formula& f, ec::Tensor* landmarks, const Subset& subset, ec::Tensor* angle) {
  ec::Tensor *cosine = f.op(OpKind::Cos, {angle}), *sine = f.op(OpKind::Sin, {angle});
  const Point points = turned(f,
                              {coordinate(f, landmarks, subset.landmarks, 0),
                               coordinate(f, landmarks, subset.landmarks, 1)},
                              cosine, sine);
  const Point most{f.extreme(OpKind::ReduceMax, points.x), f.extreme(OpKind::ReduceMax, points.y)};
  const Point least{f.extreme(OpKind::ReduceMin, points.x), f.extreme(OpKind::ReduceMin, points.y)};
  Box box;
  box.size = {f.sub(most.x, least.x), f.sub(most.y, least.y)};
  box.cosine = cosine;
  box.sine = f.neg(sine);
  const Point middle{f.mul(f.add(most.x, least.x), 0.5), f.mul(f.add(most.y, least.y), 0.5)};
  box.centre = turned(f, middle, box.cosine, box.sine);
  return box;
}

// [xx xy 0 x; yx yy 0 y; 0 0 1 0; 0 0 0 1]
Status finish_matrix(Formula& f, Point first, Point second, Point shift) {
  const float zero[] = {0}, rest[] = {0, 0, 1, 0, 0, 0, 0, 1};
  ec::Tensor* none = f.constant(Shape{1}, zero);
  ec::Tensor* all = f.concat({first.x, first.y, none, shift.x, second.x, second.y, none, shift.y,
                              f.constant(Shape{8}, rest)},
                             0);
  return f.finish(f.reshape(all, {1, 4, 4}));
}

// Pixels of the cropped image to pixels of the whole one, both counted from corner to corner.
Status matrix_v1(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  EC_TRY(const Subset subset, subset_of(ctx, map, "subset"));
  EC_TRY(const int64_t range, need_option(ctx, map, "landmarks_range", 1, 1 << 24));
  EC_TRY(const double multiplier, need_number(ctx, map, "bbox_size_multiplier"));
  EC_TRY([[maybe_unused]] const int64_t dimensions, need_option(ctx, map, "dimensions", 3, 3));
  const auto in = map.integers("input_hw"), out = map.integers("output_hw");
  for (const auto& sizes : {in, out})
    if (!sizes || sizes->size() != 2 || (*sizes)[0] < 2 || (*sizes)[1] < 2 ||
        (*sizes)[0] > (1 << 24) || (*sizes)[1] > (1 << 24))
      return ctx.fail(Code::BadAttribute, "'input_hw' or 'output_hw' are no two sizes");
  Formula f(ctx);
  ec::Tensor* landmarks = f.reshape(ctx.in(0), {-1, 3});
  const auto difference = [&](int64_t axis) {
    return f.sub(coordinate(f, landmarks, {subset.right}, axis),
                 coordinate(f, landmarks, {subset.left}, axis));
  };
  ec::Tensor* rise = difference(1);
  ec::Tensor* slope = f.op(OpKind::Div, {rise, difference(0)});
  const Box box = box_of(f, landmarks, subset, f.neg(f.op(OpKind::Atan, {slope})));
  const double h = static_cast<double>((*in)[0] - 1) / 2, w = static_cast<double>((*in)[1] - 1) / 2;
  const double to_h = 2.0 / static_cast<double>((*out)[0] - 1);
  const double to_w = 2.0 / static_cast<double>((*out)[1] - 1);
  const double per_range = 1.0 / static_cast<double>(range);
  const Point scale{f.mul(box.size.x, multiplier * per_range),
                    f.mul(box.size.y, multiplier * per_range)};
  // Corners of the crop are at -1 and 1; so are those of the whole image.
  const Point centre{f.add(f.mul(box.centre.x, 2 * per_range), -1),
                     f.add(f.mul(box.centre.y, 2 * per_range), -1)};
  const Point corner = turned(f, scale, box.cosine, box.sine);
  const Point shift{f.add(f.mul(f.sub(centre.x, corner.x), w), w),
                    f.add(f.mul(f.sub(centre.y, corner.y), h), h)};
  return finish_matrix(
      f,
      {f.mul(f.mul(box.cosine, scale.x), w * to_w),
       f.mul(f.mul(f.neg(box.sine), scale.y), w * to_h)},
      {f.mul(f.mul(box.sine, scale.x), h * to_w), f.mul(f.mul(box.cosine, scale.y), h * to_h)},
      shift);
}

Status matrix_v2(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  EC_TRY(const Subset subset, subset_of(ctx, map, "subset_idxs"));
  EC_TRY(const int64_t height, need_option(ctx, map, "output_height", 1, 1 << 24));
  EC_TRY(const int64_t width, need_option(ctx, map, "output_width", 1, 1 << 24));
  EC_TRY(const double target, need_number(ctx, map, "target_rotation_radians"));
  EC_TRY(const double scale_x, need_number(ctx, map, "scale_x"));
  EC_TRY(const double scale_y, need_number(ctx, map, "scale_y"));
  if (scale_x <= 0 || scale_y <= 0)
    return ctx.fail(Code::BadAttribute, "'scale_x' and 'scale_y' have to be positive");
  Formula f(ctx);
  ec::Tensor* landmarks = f.reshape(ctx.in(0), {-1, 3});
  const auto difference = [&](int64_t axis) {
    return f.sub(coordinate(f, landmarks, {subset.right}, axis),
                 coordinate(f, landmarks, {subset.left}, axis));
  };
  ec::Tensor* rise = difference(1);
  ec::Tensor* found = f.op(OpKind::Atan2, {rise, difference(0)});
  const Box box = box_of(f, landmarks, subset, f.sub(f.number(target), found));
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const Point scale{f.mul(box.size.x, scale_x / w), f.mul(box.size.y, scale_y / h)};
  const Point first{f.mul(box.cosine, scale.x), f.neg(f.mul(box.sine, scale.y))};
  const Point second{f.mul(box.sine, scale.x), f.mul(box.cosine, scale.y)};
  // The middle of the crop is the centre of the box.
  const auto shifted = [&](Point row, ec::Tensor* centre) {
    return f.add(f.add(f.mul(row.x, -w / 2), f.mul(row.y, -h / 2)), centre);
  };
  return finish_matrix(f, first, second,
                       {shifted(first, box.centre.x), shifted(second, box.centre.y)});
}

Status transform_matrix(OpContext& ctx) {
  return custom_version(ctx) < 2 ? matrix_v1(ctx) : matrix_v2(ctx);
}

// --- landmarks and images ------------------------------------------------------------------------

Status transform_landmarks(OpContext& ctx) {
  EC_CHECK_OK(need_floats(ctx, 0, 1));
  EC_CHECK_OK(need_floats(ctx, 1, 8));
  const std::vector<int64_t> shape = ctx.in(0)->shape()->sizes();
  int64_t dimensions = shape.empty() ? 0 : shape.back();
  double scale = 1;
  if (custom_version(ctx) < 2) {
    EC_TRY(const FlexMap map, option_map(ctx));
    EC_TRY(dimensions, need_option(ctx, map, "dimensions", 2, 3));
    EC_TRY(scale, need_number(ctx, map, "scale"));
  }
  const int64_t count = *ctx.in(0)->type().num_elements();
  if (dimensions < 2 || dimensions > 3 || count % dimensions != 0)
    return ctx.fail(Code::ShapeMismatch, "landmarks of two or three coordinates are needed, not " +
                                             ctx.in(0)->type().text());
  Formula f(ctx);
  ec::Tensor* landmarks = f.reshape(ctx.in(0), {-1, dimensions});
  ec::Tensor* matrix = f.reshape(f.rows(f.reshape(ctx.in(1), {-1}), {0, 1, 4, 5}), {2, 2});
  ec::Tensor* shift = f.mul(f.rows(f.reshape(ctx.in(1), {-1}), {3, 7}), scale);
  MatMulAttrs attrs;
  attrs.transpose_b = true;
  ec::Tensor* moved =
      f.add(f.op(OpKind::MatMul, {f.rows(landmarks, {0, 1}, 1), matrix}, attrs), shift);
  if (dimensions == 3) moved = f.concat({moved, f.rows(landmarks, {2}, 1)}, 1);
  return f.finish(f.reshape(moved, shape));
}

struct Sampling {
  int64_t height, width, channels, out_height, out_width;
};

Result<Sampling> sampling_of(const OpContext& ctx) {
  EC_CHECK_OK(need_floats(ctx, 0, 1));
  EC_CHECK_OK(need_floats(ctx, 1, 8));
  EC_TRY(const FlexMap map, option_map(ctx));
  const std::vector<int64_t> shape = ctx.in(0)->shape()->sizes();
  if (shape.size() != 4 || shape[0] != 1)
    return ctx.fail(Code::ShapeMismatch, "one image is needed, not " + ctx.in(0)->type().text());
  Sampling s{shape[1], shape[2], shape[3], 0, 0};
  if (const auto sizes = map.integers("output_size"); sizes && sizes->size() == 2) {
    s.out_height = (*sizes)[0];
    s.out_width = (*sizes)[1];
  } else {
    EC_TRY(s.out_height, need_option(ctx, map, "output_height", 1, 1 << 16));
    EC_TRY(s.out_width, need_option(ctx, map, "output_width", 1, 1 << 16));
  }
  if (const auto mode = map.text("mode"); mode && *mode != "bilinear")
    return ctx.unsupported("only bilinear interpolation is supported");
  if (s.out_height < 1 || s.out_width < 1 || s.out_height > (1 << 16) || s.out_width > (1 << 16) ||
      !ctx.importer().may_copy(8 * static_cast<size_t>(s.out_height * s.out_width)))
    return ctx.fail(Code::TooLarge, "the image that is wanted exceeds the limit");
  return s;
}

// The value of one source pixel of every target pixel: rows of channels.
ec::Tensor* pixels(OpContext& ctx, Formula& f, const Sampling& s, ec::Tensor* image,
                   ec::Tensor* row, ec::Tensor* column) {
  CastAttrs to_i32;
  to_i32.to = DType::I32;
  const auto index = [&](ec::Tensor* at, int64_t size) {
    ec::Tensor* inside = f.op(OpKind::Min, {f.op(OpKind::Max, {at, f.number(0)}),
                                            f.number(static_cast<double>(size - 1))});
    return f.op(OpKind::Cast, {inside}, to_i32);
  };
  ec::Tensor* start =
      f.mul(index(row, s.height), ctx.scalar(DType::I32, static_cast<double>(s.width)));
  return f.op(OpKind::Gather, {image, f.add(start, index(column, s.width))}, GatherAttrs{});
}

Status transform_tensor(OpContext& ctx) {
  EC_TRY(const Sampling s, sampling_of(ctx));
  const int64_t count = s.out_height * s.out_width;
  std::vector<float> columns, rows;
  for (int64_t y = 0; y < s.out_height; ++y)
    for (int64_t x = 0; x < s.out_width; ++x) {
      columns.push_back(static_cast<float>(x));
      rows.push_back(static_cast<float>(y));
    }
  Formula f(ctx);
  ec::Tensor* column = f.constant(Shape{Dim(count)}, columns);
  ec::Tensor* row = f.constant(Shape{Dim(count)}, rows);
  ec::Tensor* matrix = f.reshape(ctx.in(1), {-1});
  // The second version counts from the centres of pixels.
  const bool centres = custom_version(ctx) >= 2;
  const auto source = [&](int64_t first) {
    ec::Tensor *a = f.rows(matrix, {first}), *b = f.rows(matrix, {first + 1});
    ec::Tensor* shift = f.rows(matrix, {first + 3});
    if (centres) shift = f.add(f.add(shift, f.mul(f.add(a, b), 0.5)), -0.5);
    return f.add(f.add(f.mul(column, a), f.mul(row, b)), shift);
  };
  ec::Tensor *x = source(0), *y = source(4);
  ec::Tensor *left = f.op(OpKind::Floor, {x}), *top = f.op(OpKind::Floor, {y});
  ec::Tensor *right = f.add(left, 1), *bottom = f.add(top, 1);
  ec::Tensor* image = f.reshape(ctx.in(0), {s.height * s.width, s.channels});
  const auto part = [&](ec::Tensor* at, ec::Tensor* from) {
    return f.reshape(f.sub(at, from), {count, 1});
  };
  ec::Tensor *across = part(x, left), *down = part(y, top);
  const auto mixed = [&](ec::Tensor* a, ec::Tensor* b, ec::Tensor* share) {
    return f.add(f.mul(f.sub(f.number(1), share), a), f.mul(share, b));
  };
  ec::Tensor* upper =
      mixed(pixels(ctx, f, s, image, top, left), pixels(ctx, f, s, image, top, right), across);
  ec::Tensor* lower = mixed(pixels(ctx, f, s, image, bottom, left),
                            pixels(ctx, f, s, image, bottom, right), across);
  const auto inside = [&](ec::Tensor* at, int64_t size) {
    ec::Tensor* above = f.op(OpKind::GreaterOrEqual, {at, f.number(0)});
    return f.op(OpKind::And,
                {above, f.op(OpKind::LessOrEqual, {at, f.number(static_cast<double>(size - 1))})});
  };
  ec::Tensor* is_inside =
      f.reshape(f.op(OpKind::And, {inside(x, s.width), inside(y, s.height)}), {count, 1});
  ec::Tensor* result = f.op(OpKind::Where, {is_inside, mixed(upper, lower, down), f.number(0)});
  return f.finish(f.reshape(result, {1, s.out_height, s.out_width, s.channels}));
}

constexpr CustomRow kRows[] = {
    {"Landmarks2TransformMatrix", {1, 1}, {1, 1}, transform_matrix},
    {"TransformLandmarks", {2, 2}, {1, 1}, transform_landmarks},
    {"TransformTensor", {2, 2}, {1, 1}, transform_tensor},
    {"TransformTensorBilinear", {2, 2}, {1, 1}, transform_tensor},
};

}  // namespace

const std::span<const CustomRow> kLandmarkRows = kRows;

}  // namespace ec::tflite
