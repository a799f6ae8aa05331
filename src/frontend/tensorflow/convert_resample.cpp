// Resizing by kernels, by areas, and of boxes in an image.
#include <cmath>

#include "frontend/graph_builder.h"
#include "frontend/resampling.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

constexpr int64_t kRows = 1, kColumns = 2;  // axes of a batch of images

// Height and width that a resize asks for.
Result<std::vector<int64_t>> wanted_sizes(const OpContext& ctx, size_t input) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != 4) return ctx.fail(Code::ShapeMismatch, "the input has to have 4 dimensions");
  EC_TRY(std::vector<int64_t> sizes, ctx.need_ints(input, "size"));
  constexpr int64_t kMaxSide = 1 << 20;
  const auto fits = [](int64_t size) { return size > 0 && size <= kMaxSide; };
  if (sizes.size() == 2 && fits(sizes[0]) && fits(sizes[1])) return sizes;
  return ctx.fail(Code::BadValue, "the size has to be a height and a width");
}

Status finish(OpContext& ctx, GraphBuilder& builder, ec::Tensor* y) {
  EC_CHECK_OK(builder.status());
  return ctx.set(0, y);
}

// Whether the op `resize` computes the same: linear and cubic kernels, and scales that follow from
// the sizes.
bool is_plain(const Resampling& r) {
  if (r.kernel != ResampleKernel::Triangle && r.kernel != ResampleKernel::KeysCubic) return false;
  const float scale = static_cast<float>(r.output) / static_cast<float>(r.input);
  return r.translation == 0.0f && std::abs(r.scale - scale) <= 1e-6f * scale;
}

Status plain_resize(OpContext& ctx, ec::Tensor* x, const Resampling& rows,
                    const Resampling& columns) {
  ResizeAttrs attrs;
  attrs.mode = rows.kernel == ResampleKernel::Triangle ? ResizeMode::Linear : ResizeMode::Cubic;
  attrs.cubic_a = -0.5f;
  attrs.antialias = rows.antialias;
  attrs.exclude_outside = rows.antialias || attrs.mode == ResizeMode::Cubic;
  attrs.axes = {kRows, kColumns};
  return ctx.finish(OpKind::Resize, {x, nullptr, nullptr, ctx.ints({rows.output, columns.output})},
                    attrs);
}

// (images, size, scale, translation): what tf.image.resize becomes with antialiasing or with one of
// its rarer kernels.
Status scale_and_translate(OpContext& ctx) {
  EC_TRY(const std::vector<int64_t> sizes, wanted_sizes(ctx, 1));
  EC_TRY(const std::vector<float> scales, ctx.need_floats(2, "scale"));
  EC_TRY(const std::vector<float> translations, ctx.need_floats(3, "translation"));
  if (scales.size() != 2 || translations.size() != 2)
    return ctx.fail(Code::ShapeMismatch, "scale and translation have to be two numbers each");
  const auto kernel = resample_kernel(ctx.attr_text("kernel_type", "lanczos3"));
  if (!kernel) return ctx.unsupported("the kernel is not known");
  GraphBuilder builder(ctx.graph(), ctx.location());
  ec::Tensor* x = builder.to_float(ctx.in(0));
  Resampling parts[2];
  for (size_t i = 0; i < 2; ++i)
    parts[i] = {*kernel,         builder.size(x, kRows + static_cast<int64_t>(i)),
                sizes[i],        scales[i],
                translations[i], ctx.attr_bool("antialias", true)};
  EC_CHECK_OK(builder.status());
  if (is_plain(parts[0]) && is_plain(parts[1])) return plain_resize(ctx, x, parts[0], parts[1]);
  size_t& room = ctx.importer().turned_room();
  x = resample(builder, x, kRows, parts[0], room);
  return finish(ctx, builder, resample(builder, x, kColumns, parts[1], room));
}

// Every element of the result is the mean of the stretch of input that it covers.
Status resize_area(OpContext& ctx) {
  EC_TRY(const std::vector<int64_t> sizes, wanted_sizes(ctx, 1));
  const bool corners = ctx.attr_bool("align_corners");
  GraphBuilder builder(ctx.graph(), ctx.location());
  ec::Tensor* x = builder.to_float(ctx.in(0));
  for (size_t i = 0; i < 2; ++i) {
    const int64_t axis = kRows + static_cast<int64_t>(i);
    const int64_t input = builder.size(x, axis), aligned = corners && sizes[i] > 1 ? 1 : 0;
    const float step = static_cast<float>(input - aligned) / static_cast<float>(sizes[i] - aligned);
    if (!(step > 0.0f)) return ctx.fail(Code::BadValue, "the image is too small");
    x = resample_area(builder, x, axis, sizes[i], step, ctx.importer().turned_room());
  }
  return finish(ctx, builder, x);
}

// --- boxes --------------------------------------------------------------------------------------

// Places along one side of every box, [boxes, count], in elements of the image. A single place is
// the middle of the box.
ec::Tensor* places(GraphBuilder& b, ec::Tensor* boxes, int64_t side, int64_t image, int64_t count) {
  const auto last = static_cast<double>(image - 1);
  ec::Tensor* low = b.times(b.slice(boxes, 1, side, side + 1), last);
  ec::Tensor* high = b.times(b.slice(boxes, 1, side + 2, side + 3), last);
  if (count == 1) return b.times(b.plus(low, high), 0.5);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  ec::Tensor* step = b.over(b.minus(high, low), static_cast<double>(count - 1));
  return b.plus(low, b.times(step, b.floats(Shape{Dim(1), Dim(count)}, numbers)));
}

// Coordinates of grid_sample with aligned corners: -1 is the first element, 1 the last.
ec::Tensor* normalized(GraphBuilder& b, ec::Tensor* at, int64_t image) {
  if (image == 1) return b.times(at, 0.0);
  return b.minus(b.times(at, 2.0 / static_cast<double>(image - 1)), 1.0);
}

// 1 where a place lies inside the image.
ec::Tensor* inside(GraphBuilder& b, ec::Tensor* at, int64_t image) {
  ec::Tensor* low = b.add(OpKind::GreaterOrEqual, {at, b.like(at, 0)});
  ec::Tensor* high = b.add(OpKind::LessOrEqual, {at, b.like(at, static_cast<double>(image - 1))});
  return b.add(OpKind::And, {low, high});
}

// (image, boxes, box_ind, crop_size): each box of normalised corners, in one size.
Status crop_and_resize(OpContext& ctx) {
  EC_TRY(const std::vector<int64_t> sizes, wanted_sizes(ctx, 3));
  const std::string_view method = ctx.attr_text("method", "bilinear");
  if (method != "bilinear" && method != "nearest")
    return ctx.fail(Code::BadAttribute, "the method is neither bilinear nor nearest");
  GraphBuilder b(ctx.graph(), ctx.location());
  ec::Tensor* x = b.to_float(ctx.in(0));
  ec::Tensor* boxes = ctx.in(1);
  const int64_t height = b.size(x, kRows), width = b.size(x, kColumns);
  EC_CHECK_OK(ctx.take_room(static_cast<size_t>(sizes[0] + sizes[1]) * sizeof(float)));
  ec::Tensor* rows = places(b, boxes, 0, height, sizes[0]);
  ec::Tensor* columns = places(b, boxes, 1, width, sizes[1]);
  ec::Tensor* within = b.add(OpKind::And, {b.unsqueeze(inside(b, rows, height), {2}),
                                           b.unsqueeze(inside(b, columns, width), {1})});
  if (method == "nearest") {
    // TensorFlow rounds halves away from zero.
    rows = b.add(OpKind::Floor, {b.plus(rows, 0.5)});
    columns = b.add(OpKind::Floor, {b.plus(columns, 0.5)});
  }
  const Sizes grid = {Size(boxes, 0), Size(sizes[0]), Size(sizes[1]), Size(1)};
  ec::Tensor* down = b.expand(b.unsqueeze(normalized(b, rows, height), {2, 3}), grid);
  ec::Tensor* across = b.expand(b.unsqueeze(normalized(b, columns, width), {1, 3}), grid);
  GridSampleAttrs attrs;
  attrs.padding = BorderMode::Border;
  attrs.align_corners = true;
  ec::Tensor* images = b.transpose(b.gather(x, ctx.in(2), 0), {0, 3, 1, 2});
  ec::Tensor* y = b.add(OpKind::GridSample, {images, b.concat({across, down}, 3)}, attrs);
  y = b.transpose(y, {0, 2, 3, 1});
  const double outside = double{ctx.attr_float("extrapolation_value")};
  return finish(ctx, b, b.where(b.unsqueeze(within, {3}), y, b.like(y, outside)));
}

constexpr OpRow kTable[] = {
    {"ScaleAndTranslate", {4, 4}, scale_and_translate},
    {"ResizeArea", {2, 2}, resize_area},
    {"CropAndResize", {4, 4}, crop_and_resize},
};

}  // namespace

const std::span<const OpRow> kResampleRows = kTable;

}  // namespace ec::tf
