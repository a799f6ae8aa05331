// Maximum pooling that tells where in its window each maximum is, and its inverse (MediaPipe's
// MaxPoolingWithArgmax2D and MaxUnpooling2D). Indices are floats, a tenth above the integer, so
// that truncation finds it.
#include <algorithm>
#include <array>
#include <limits>

#include "ops/define.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

struct Window {
  int64_t kernel, stride;
};

Result<std::array<Window, 2>> windows_of(const InferContext& ctx) {
  const auto& attrs = ctx.attrs<ArgmaxWindowAttrs>();
  std::array<Window, 2> windows{};
  if (attrs.kernel.size() != 2 || attrs.strides.size() != 2)
    return ctx.bad_value("two window sizes and two strides are needed");
  if (attrs.padding != AutoPad::Valid && attrs.padding != AutoPad::SameUpper)
    return ctx.bad_value("the padding has to be valid or same_upper");
  for (size_t i = 0; i < 2; ++i) {
    windows[i] = {attrs.kernel[i], attrs.strides[i]};
    for (const int64_t number : {windows[i].kernel, windows[i].stride})
      if (number < 1 || number > (1 << 16))
        return ctx.bad_value("a window size or stride is " + std::to_string(number));
  }
  return windows;
}

Status need_images(const InferContext& ctx, size_t i) {
  if (ctx.dtype(i) != DType::F32) return ctx.bad_type("f32 is needed, not " + operand_text(ctx, i));
  if (ctx.shape(i) && ctx.shape(i)->rank() != 4)
    return ctx.bad_shape("images [N, H, W, C] are needed, not " + operand_text(ctx, i));
  return {};
}

int64_t pooled_size(int64_t size, const Window& w, bool same) {
  return same ? (size + w.stride - 1) / w.stride : (size - w.kernel + w.stride) / w.stride;
}

// Elements of padding before the first one, for windows that cover `size` elements `count` times.
int64_t padding_before(int64_t size, int64_t count, const Window& w) {
  return std::max<int64_t>(0, (count - 1) * w.stride + w.kernel - size) / 2;
}

Status infer_pool(InferContext& ctx) {
  EC_TRY(const auto windows, windows_of(ctx));
  EC_CHECK_OK(need_images(ctx, 0));
  const bool same = ctx.attrs<ArgmaxWindowAttrs>().padding == AutoPad::SameUpper;
  std::optional<Shape> out = ctx.shape(0);
  for (size_t i = 0; out && i < 2; ++i) {
    Dim& dim = (*out)[i + 1];
    if (!dim.is_static()) {
      dim = Dim::unknown();
      continue;
    }
    if (!same && dim.size() < windows[i].kernel)
      return ctx.bad_shape("the window is larger than " + operand_text(ctx, 0));
    dim = Dim(pooled_size(dim.size(), windows[i], same));
  }
  ctx.set(0, DType::F32, out);
  if (ctx.num_outputs() > 1) ctx.set(1, DType::F32, std::move(out));
  return {};
}

struct Sizes {
  int64_t batch, height, width, channels;
  explicit Sizes(std::span<const int64_t> s)
      : batch(s[0]), height(s[1]), width(s[2]), channels(s[3]) {}
  size_t at(int64_t b, int64_t y, int64_t x, int64_t c) const {
    return static_cast<size_t>(((b * height + y) * width + x) * channels + c);
  }
};

Status pool(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ArgmaxWindowAttrs>();
  const Sizes in(ctx.input(0).shape), out(ctx.output(0).shape);
  const Window rows{attrs.kernel[0], attrs.strides[0]}, columns{attrs.kernel[1], attrs.strides[1]};
  const int64_t top = padding_before(in.height, out.height, rows);
  const int64_t left = padding_before(in.width, out.width, columns);
  const auto x = ctx.input(0).as<float>();
  const auto y = ctx.output(0).as<float>();
  Ticker ticker;
  for (int64_t b = 0; b < out.batch; ++b)
    for (int64_t oy = 0; oy < out.height; ++oy)
      for (int64_t ox = 0; ox < out.width; ++ox)
        for (int64_t c = 0; c < out.channels; ++c) {
          if (ticker.tick(rows.kernel * columns.kernel)) return {};
          float most = std::numeric_limits<float>::lowest();
          int64_t index = 0;
          for (int64_t ky = 0; ky < rows.kernel; ++ky)
            for (int64_t kx = 0; kx < columns.kernel; ++kx) {
              const int64_t iy = oy * rows.stride - top + ky, ix = ox * columns.stride - left + kx;
              if (iy < 0 || ix < 0 || iy >= in.height || ix >= in.width) continue;
              const float value = x[in.at(b, iy, ix, c)];
              if (!(value > most)) continue;
              most = value;
              index = ky * columns.kernel + kx;
            }
          y[out.at(b, oy, ox, c)] = most;
          if (ctx.num_outputs() > 1)
            ctx.output(1).as<float>()[out.at(b, oy, ox, c)] = static_cast<float>(index) + 0.1f;
        }
  return {};
}

Status infer_unpool(InferContext& ctx) {
  EC_TRY(const auto windows, windows_of(ctx));
  EC_CHECK_OK(need_images(ctx, 0));
  EC_CHECK_OK(need_images(ctx, 1));
  std::optional<Shape> out = ctx.shape(0);
  for (size_t i = 0; out && i < 2; ++i) {
    Dim& dim = (*out)[i + 1];
    dim = dim.is_static() && dim.size() < (int64_t{1} << 32) ? Dim(dim.size() * windows[i].kernel)
                                                             : Dim::unknown();
  }
  ctx.set(0, DType::F32, std::move(out));
  return {};
}

Status unpool(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ArgmaxWindowAttrs>();
  const Sizes in(ctx.input(0).shape), out(ctx.output(0).shape);
  if (ctx.input(1).count() != ctx.input(0).count())
    return ctx.fail("values and indices have different shapes");
  const Window rows{attrs.kernel[0], attrs.strides[0]}, columns{attrs.kernel[1], attrs.strides[1]};
  const int64_t top = padding_before(out.height, in.height, rows);
  const int64_t left = padding_before(out.width, in.width, columns);
  const auto x = ctx.input(0).as<float>(), indices = ctx.input(1).as<float>();
  const auto y = ctx.output(0).as<float>();
  std::fill(y.begin(), y.end(), 0.0f);
  for (int64_t b = 0; b < in.batch; ++b)
    for (int64_t iy = 0; iy < in.height; ++iy)
      for (int64_t ix = 0; ix < in.width; ++ix)
        for (int64_t c = 0; c < in.channels; ++c) {
          const float index = indices[in.at(b, iy, ix, c)];
          // What lies outside the window's elements or the image goes nowhere.
          if (!(index >= 0 && index < static_cast<float>(rows.kernel * columns.kernel))) continue;
          const auto whole = static_cast<int64_t>(index);
          const int64_t oy = iy * rows.stride - top + whole / columns.kernel;
          const int64_t ox = ix * columns.stride - left + whole % columns.kernel;
          if (oy < 0 || ox < 0 || oy >= out.height || ox >= out.width) continue;
          y[out.at(b, oy, ox, c)] = x[in.at(b, iy, ix, c)];
        }
  return {};
}

}  // namespace

constexpr Rule kMaxPoolArgmaxRules[] = {
    rule::rank("x", 4), rule::length("kernel", 2, 2), rule::length("strides", 2, 2),
    rule::between("kernel", 1, 1 << 16), rule::between("strides", 1, 1 << 16)};
EC_OP_DEF(MaxPoolArgmax, .signature = "(x) -> (y, indices?)",
          .summary =
              "The largest element of each window of images [N, H, W, C], and its place in the "
              "window, row by row, as a float a tenth above the number.",
          .rules = kMaxPoolArgmaxRules, .infer = infer_pool, .reference = pool,
          .layout = LayoutRule::Fixed);
constexpr Rule kMaxUnpoolArgmaxRules[] = {rule::rank("x", 4),
                                          rule::rank("indices", 4),
                                          rule::length("kernel", 2, 2),
                                          rule::length("strides", 2, 2),
                                          rule::between("kernel", 1, 1 << 16),
                                          rule::between("strides", 1, 1 << 16)};
EC_OP_DEF(MaxUnpoolArgmax, .signature = "(x, indices) -> y",
          .summary =
              "Images kernel times as large: each element at the place in its window that the "
              "index says, zeros elsewhere.",
          .rules = kMaxUnpoolArgmaxRules, .infer = infer_unpool, .reference = unpool,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
