// Pools over boxes (regions of interest) and the inverse of max pooling.
#include <algorithm>
#include <cmath>

#include "ops/define.h"
#include "ops/window.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// --- max_unpool ----------------------------------------------------------------------------------

// Sizes the indices count in: what pooling with these windows would have started from.
Result<Dim> unpooled_size(const InferContext& ctx, const WindowSpec& spec, size_t d,
                          const Dim& pooled) {
  if (!pooled.is_static()) return Dim::unknown();
  if (pooled.size() > kMaxSpatialSize)
    return ctx.bad_shape("input " + operand_text(ctx, 0) + " is too large");
  const auto spread = checked_mul(pooled.size() - 1, spec.strides[d]);
  const int64_t size =
      (spread ? *spread : -1) + spec.kernel[d] - spec.pads[d] - spec.pads[d + spec.rank()];
  if (!spread || pooled.size() == 0 || size < 1)
    return ctx.bad_shape("windows of " + std::to_string(spec.kernel[d]) + " cannot unpool " +
                         operand_text(ctx, 0));
  return Dim(size);
}

WindowSpec unpool_spec(const MaxUnpoolAttrs& attrs) {
  WindowSpec spec{attrs.kernel, attrs.strides, {}, attrs.pads, {}, {}};
  complete_window(spec);
  return spec;
}

Status infer_max_unpool(InferContext& ctx) {
  if (ctx.dtype(1) != DType::I64)
    return ctx.bad_type("indices should be i64, not " + operand_text(ctx, 1));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  const WindowSpec spec = unpool_spec(ctx.attrs<MaxUnpoolAttrs>());
  EC_CHECK_OK(check_window(ctx, spec));
  if (!ctx.shape(0)) return {};
  Shape out = *ctx.shape(0);
  if (out.rank() != spec.rank() + 2)
    return ctx.bad_shape("windows of " + std::to_string(spec.rank()) +
                         " dimensions cannot unpool " + operand_text(ctx, 0));
  if (ctx.shape(1)) {
    bool same = ctx.shape(1)->rank() == out.rank();
    for (size_t d = 0; same && d < out.rank(); ++d)
      same = !out[d].is_static() || !(*ctx.shape(1))[d].is_static() || out[d] == (*ctx.shape(1))[d];
    if (!same)
      return ctx.bad_shape("input " + operand_text(ctx, 0) + " and indices " +
                           operand_text(ctx, 1) + " differ in shape");
  }
  for (size_t d = 0; d < spec.rank(); ++d) {
    EC_TRY(out[d + 2], unpooled_size(ctx, spec, d, out[d + 2]));
  }
  if (ctx.has(2)) {
    const auto wanted = ctx.dim_values(2);
    if (wanted && wanted->size() != out.rank())
      return ctx.bad_shape("output shape " + Shape(*wanted).text() + " has another rank than " +
                           operand_text(ctx, 0));
    for (size_t d = 0; wanted && d < out.rank(); ++d)
      if ((*wanted)[d].is_static() && out[d].is_static() && (*wanted)[d].size() < out[d].size())
        return ctx.bad_shape("output shape " + Shape(*wanted).text() + " is smaller than " +
                             out.text());
    out = wanted ? Shape(*wanted) : Shape(std::vector<Dim>(out.rank(), Dim::unknown()));
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status reference_max_unpool(KernelContext& ctx) {
  const MutableView& out = ctx.output(0);
  const WindowSpec spec = unpool_spec(ctx.attrs<MaxUnpoolAttrs>());
  // Indices count in the shape that pooling started from; a larger output shape adds room after it.
  std::vector<int64_t> counted(ctx.input(0).shape.begin(), ctx.input(0).shape.end());
  for (size_t d = 0; d < spec.rank(); ++d)
    counted[d + 2] = (counted[d + 2] - 1) * spec.strides[d] + spec.kernel[d] - spec.pads[d] -
                     spec.pads[d + spec.rank()];
  const auto total = Shape::of(counted).num_elements();
  const auto strides = row_major_strides(out.shape);
  const auto indices = ctx.input(1).as<int64_t>();
  const size_t size = element_size(out.dtype);
  std::fill(out.data, out.data + out.bytes(), std::byte{});
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t rest = indices[i];
    if (!total || rest < 0 || rest >= *total)
      return ctx.fail("index " + std::to_string(rest) + " is outside " + Shape::of(counted).text());
    int64_t at = 0;
    for (size_t d = counted.size(); d-- > 0;) {
      at += rest % counted[d] * strides[d];
      rest /= counted[d];
    }
    std::copy_n(ctx.input(0).data + i * size, size, out.data + static_cast<size_t>(at) * size);
  }
  return {};
}

// --- max_roi_pool --------------------------------------------------------------------------------

Status check_image_and_boxes(const InferContext& ctx, int64_t columns) {
  if (!is_float(ctx.dtype(0)) || ctx.dtype(1) != ctx.dtype(0))
    return ctx.bad_type("image and boxes need one float type: " + operand_text(ctx, 0) + " and " +
                        operand_text(ctx, 1));
  if (ctx.shape(0) && ctx.shape(0)->rank() != 4)
    return ctx.bad_shape("an image [N, C, H, W] is needed, not " + operand_text(ctx, 0));
  if (!ctx.shape(1)) return {};
  const Shape& boxes = *ctx.shape(1);
  if (boxes.rank() != 2 || (boxes[1].is_static() && boxes[1].size() != columns))
    return ctx.bad_shape("boxes should be [count, " + std::to_string(columns) + "], not " +
                         operand_text(ctx, 1));
  return {};
}

Status set_pooled(InferContext& ctx, const Dim& count, int64_t height, int64_t width) {
  constexpr int64_t kLimit = int64_t{1} << 24;
  if (height < 1 || width < 1 || height > kLimit || width > kLimit)
    return ctx.bad_value("pooled size " + std::to_string(height) + "x" + std::to_string(width) +
                         " is out of range");
  const Dim channels = ctx.shape(0) ? (*ctx.shape(0))[1] : Dim::unknown();
  ctx.set(0, ctx.dtype(0), Shape{count, channels, height, width});
  return {};
}

Status infer_max_roi_pool(InferContext& ctx) {
  const auto& attrs = ctx.attrs<MaxRoiPoolAttrs>();
  EC_CHECK_OK(check_image_and_boxes(ctx, 5));
  if (attrs.pooled.size() != 2) return ctx.bad_value("pooled size needs height and width");
  return set_pooled(ctx, ctx.shape(1) ? (*ctx.shape(1))[0] : Dim::unknown(), attrs.pooled[0],
                    attrs.pooled[1]);
}

// Bins of one axis of a box: whole pixels [first, last), clipped to the image.
struct Bins {
  int64_t start, size, count, limit;
  std::pair<int64_t, int64_t> bin(int64_t i) const {
    const double width = static_cast<double>(size) / static_cast<double>(count);
    const auto first = start + static_cast<int64_t>(std::floor(static_cast<double>(i) * width));
    const auto last = start + static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * width));
    return {std::clamp<int64_t>(first, 0, limit), std::clamp<int64_t>(last, 0, limit)};
  }
};

// Box corners are data: whatever they hold becomes a coordinate in a safe range.
int64_t to_pixel(double value) {
  if (std::isnan(value)) return 0;
  return static_cast<int64_t>(std::clamp(std::round(value), -1e9, 1e9));
}

Status reference_max_roi_pool(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<MaxRoiPoolAttrs>();
  const auto xs = ctx.input(0).shape;
  const int64_t height = xs[2], width = xs[3];
  std::vector<double> x(static_cast<size_t>(ctx.input(0).count())),
      boxes(static_cast<size_t>(ctx.input(1).count()));
  load<double>(ctx.input(0), x);
  load<double>(ctx.input(1), boxes);
  Writer<double> out(ctx.output(0));
  Ticker ticker;
  size_t target = 0;
  for (size_t r = 0; r * 5 < boxes.size(); ++r) {
    const double* box = boxes.data() + r * 5;
    const int64_t image = saturate_to_int64(box[0]);
    if (image < 0 || image >= xs[0])
      return ctx.fail("box " + std::to_string(r) + " names image " + std::to_string(image) +
                      " of " + std::to_string(xs[0]));
    const auto axis = [&](double low, double high, int64_t count, int64_t limit) {
      const int64_t start = to_pixel(low * double{attrs.spatial_scale}),
                    end = to_pixel(high * double{attrs.spatial_scale});
      return Bins{start, std::max<int64_t>(end - start + 1, 1), count, limit};
    };
    const Bins rows = axis(box[2], box[4], attrs.pooled[0], height),
               columns = axis(box[1], box[3], attrs.pooled[1], width);
    for (int64_t c = 0; c < xs[1]; ++c)
      for (int64_t i = 0; i < rows.count; ++i)
        for (int64_t j = 0; j < columns.count; ++j) {
          const auto [y0, y1] = rows.bin(i);
          const auto [x0, x1] = columns.bin(j);
          const double* plane = x.data() + (image * xs[1] + c) * height * width;
          const bool empty = y1 <= y0 || x1 <= x0;
          if (ticker.tick(1 + (y1 - y0) * (x1 - x0))) return {};
          double best = empty ? 0.0 : plane[y0 * width + x0];
          for (int64_t yy = y0; yy < y1; ++yy)
            for (int64_t xx = x0; xx < x1; ++xx) best = std::max(best, plane[yy * width + xx]);
          out[target++] = best;
        }
  }
  out.commit();
  return {};
}

// --- roi_align -----------------------------------------------------------------------------------

Status infer_roi_align(InferContext& ctx) {
  const auto& attrs = ctx.attrs<RoiAlignAttrs>();
  EC_CHECK_OK(check_image_and_boxes(ctx, 4));
  if (!is_integer(ctx.dtype(2)))
    return ctx.bad_type("image numbers should be integers, not " + operand_text(ctx, 2));
  if (attrs.sampling_ratio < 0 || attrs.sampling_ratio > 4096)
    return ctx.bad_value("sampling ratio " + std::to_string(attrs.sampling_ratio) +
                         " is out of range");
  Dim count = ctx.shape(1) ? (*ctx.shape(1))[0] : Dim::unknown();
  if (ctx.shape(2)) {
    const Shape& numbers = *ctx.shape(2);
    if (numbers.rank() != 1 || (numbers[0].is_static() && count.is_static() && numbers[0] != count))
      return ctx.bad_shape("image numbers " + operand_text(ctx, 2) + " do not fit boxes " +
                           operand_text(ctx, 1));
    if (!count.is_static()) count = numbers[0].is_static() ? numbers[0] : count;
  }
  return set_pooled(ctx, count, attrs.output_height, attrs.output_width);
}

// The four pixels and weights of one bilinear sample.
struct Sample {
  int64_t at[4] = {0, 0, 0, 0};
  double weight[4] = {0, 0, 0, 0};
};

Sample bilinear(double y, double x, int64_t height, int64_t width) {
  Sample s;
  if (!(y >= -1.0 && y <= static_cast<double>(height) && x >= -1.0 &&
        x <= static_cast<double>(width)))
    return s;
  const auto split = [](double v, int64_t size, int64_t& low, int64_t& high) {
    v = std::max(v, 0.0);
    low = std::min(static_cast<int64_t>(v), size - 1);
    high = std::min(low + 1, size - 1);
    return low == size - 1 ? 0.0 : v - static_cast<double>(low);
  };
  int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
  const double fy = split(y, height, y0, y1), fx = split(x, width, x0, x1);
  s = {{y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1},
       {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}};
  return s;
}

// One axis of a box, cut into bins with samples in each.
struct Span {
  double start, bin;
  int64_t samples;
  double at(int64_t i, int64_t s) const {
    return start + bin * (static_cast<double>(i) +
                          (static_cast<double>(s) + 0.5) / static_cast<double>(samples));
  }
};

Span roi_span(const RoiAlignAttrs& attrs, double low, double high, int64_t bins) {
  const double offset = attrs.half_pixel ? 0.5 : 0.0;
  const double start = low * double{attrs.spatial_scale} - offset,
               end = high * double{attrs.spatial_scale} - offset;
  const double size = attrs.half_pixel ? end - start : std::max(end - start, 1.0);
  const double bin = size / static_cast<double>(bins);
  // One sample per pixel of the bin unless a number is given.
  const int64_t samples =
      attrs.sampling_ratio > 0 ? attrs.sampling_ratio : saturate_to_int64(std::ceil(bin));
  return {start, bin, std::max<int64_t>(samples, 0)};
}

// What a bin has collected of one channel.
struct Pool {
  double sum = 0.0, best = -INFINITY;
  void add(const Sample& sample, const double* plane) {
    for (size_t k = 0; k < 4; ++k) {
      const double part = sample.weight[k] * plane[sample.at[k]];
      sum += part;
      best = std::max(best, part);
    }
  }
};

Status reference_roi_align(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<RoiAlignAttrs>();
  const auto xs = ctx.input(0).shape, os = ctx.output(0).shape;
  const int64_t plane = xs[2] * xs[3];
  if (ctx.output(0).count() == 0) return {};
  if (plane == 0) return ctx.fail("the image has no pixels");
  const Reader<double> x(ctx.input(0)), boxes(ctx.input(1));
  std::vector<int64_t> images(static_cast<size_t>(os[0]));
  load<int64_t>(ctx.input(2), images);
  Writer<double> out(ctx.output(0));
  std::vector<Pool> pools(static_cast<size_t>(xs[1]));  // by channel
  Ticker ticker;
  for (int64_t r = 0; r < os[0]; ++r) {
    const int64_t image = images[static_cast<size_t>(r)];
    if (image < 0 || image >= xs[0])
      return ctx.fail("box " + std::to_string(r) + " names image " + std::to_string(image) +
                      " of " + std::to_string(xs[0]));
    const double* box = boxes.data() + 4 * r;
    const Span rows = roi_span(attrs, box[1], box[3], os[2]),
               columns = roi_span(attrs, box[0], box[2], os[3]);
    // Boxes are data: more samples than this only come from broken ones.
    constexpr int64_t kMaxSamples = 1 << 20;
    const auto per_bin = checked_mul(rows.samples, columns.samples);
    if (!per_bin || std::max({rows.samples, columns.samples, *per_bin}) > kMaxSamples)
      return ctx.fail("box " + std::to_string(r) + " is too large");
    for (int64_t i = 0; i < os[2]; ++i)
      for (int64_t j = 0; j < os[3]; ++j) {
        // Four products for each sample and channel, and the sample's own place.
        if (ticker.tick(4 * (*per_bin) * (4 + xs[1]))) return {};
        std::fill(pools.begin(), pools.end(), Pool());
        for (int64_t sy = 0; sy < rows.samples; ++sy)
          for (int64_t sx = 0; sx < columns.samples; ++sx) {
            const Sample sample = bilinear(rows.at(i, sy), columns.at(j, sx), xs[2], xs[3]);
            for (int64_t c = 0; c < xs[1]; ++c)
              pools[static_cast<size_t>(c)].add(sample, x.data() + (image * xs[1] + c) * plane);
          }
        const bool empty = *per_bin == 0;
        for (int64_t c = 0; c < xs[1]; ++c) {
          const Pool& pool = pools[static_cast<size_t>(c)];
          const double value =
              attrs.max_mode ? pool.best : pool.sum / static_cast<double>(*per_bin);
          out[static_cast<size_t>(((r * xs[1] + c) * os[2] + i) * os[3] + j)] = empty ? 0 : value;
        }
      }
  }
  out.commit();
  return {};
}

}  // namespace

constexpr Rule kMaxUnpoolRules[] = {
    rule::min_rank("x", 3),           rule::same_rank("indices", "x"),
    rule::integers("output_shape"),   rule::not_negative("output_shape"),
    rule::at_least("kernel", 1),      rule::at_least("strides", 1),
    rule::at_least("pads", 0),        rule::length("kernel", 1, rule::kAnyRank),
    rule::per_spatial("kernel", "x"), rule::per_spatial("strides", "x"),
    rule::per_spatial("pads", "x", 2)};
EC_OP_DEF(
    MaxUnpool, .signature = "(x, indices, output_shape?) -> y",
    .summary = "Puts the elements that max pooling kept back to their positions; the rest is 0.",
    .rules = kMaxUnpoolRules, .infer = infer_max_unpool, .reference = reference_max_unpool,
    .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
constexpr Rule kMaxRoiPoolRules[] = {rule::floats("x"), rule::rank("x", 4), rule::rank("boxes", 2),
                                     rule::length("pooled", 2, 2),
                                     rule::between("pooled", 1, 1 << 24)};
EC_OP_DEF(
    MaxRoiPool, .signature = "(x, boxes) -> y",
    .summary =
        "Largest element in each bin of boxes [image, x1, y1, x2, y2], with whole-pixel bins.",
    .rules = kMaxRoiPoolRules, .infer = infer_max_roi_pool, .reference = reference_max_roi_pool,
    .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
constexpr Rule kRoiAlignRules[] = {rule::floats("x"),
                                   rule::rank("x", 4),
                                   rule::rank("boxes", 2),
                                   rule::rank("image_numbers", 1),
                                   rule::integers("image_numbers"),
                                   rule::between("output_height", 1, 1 << 24),
                                   rule::between("output_width", 1, 1 << 24),
                                   rule::at_least("sampling_ratio", 0)};
EC_OP_DEF(RoiAlign, .signature = "(x, boxes, image_numbers) -> y",
          .summary = "Mean or maximum of bilinear samples in each bin of boxes [x1, y1, x2, y2].",
          .rules = kRoiAlignRules, .infer = infer_roi_align, .reference = reference_roi_align,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
