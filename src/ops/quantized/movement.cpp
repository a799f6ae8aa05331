// Ops that move quantised elements: concat, which may rescale, padding with the zero point, and
// resizing by integer weights.
#include "ops/convert.h"
#include "ops/move.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/params.h"

namespace ec::quantized {
namespace {

constexpr int kFraction = 10;

// Resizing of one dimension in 1/1024 of a pixel.
struct ResizeDim {
  int32_t input = 1, output = 1, scale = 1 << kFraction;
  bool half_pixel = false;

  ResizeDim(int64_t in, int64_t out, CoordinateMode mode)
      : input(static_cast<int32_t>(in)),
        output(static_cast<int32_t>(out)),
        half_pixel(mode == CoordinateMode::HalfPixel) {
    const bool corners = mode == CoordinateMode::AlignCorners && out > 1;
    const int64_t from = corners ? in - 1 : in, to = corners ? out - 1 : out;
    scale = static_cast<int32_t>(((from << kFraction) + to / 2) / to);
  }

  struct Tap {
    int64_t first, second;
    int64_t weight;  // of the second, of 1024
  };
  Tap tap(int64_t o) const {
    int64_t at = o * scale;
    if (half_pixel) at += scale / 2 - (1 << (kFraction - 1));
    const int64_t first = std::max<int64_t>(at / (1 << kFraction), 0);
    const int64_t second =
        std::min<int64_t>((at + (1 << kFraction) - 1) / (1 << kFraction), input - 1);
    return {first, second, at - (first << kFraction)};
  }
};

// The same positions and weights in floats, which TFLite uses for u8.
struct FloatResizeDim {
  float scale = 1.0f;
  int64_t input = 1;
  bool half_pixel = false;

  FloatResizeDim(int64_t in, int64_t out, CoordinateMode mode)
      : input(in), half_pixel(mode == CoordinateMode::HalfPixel) {
    const bool corners = mode == CoordinateMode::AlignCorners && out > 1;
    scale = corners ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                    : static_cast<float>(in) / static_cast<float>(out);
  }
  struct Tap {
    int64_t first, second;
    float weight;
  };
  Tap tap(int64_t o) const {
    const float at =
        half_pixel ? (static_cast<float>(o) + 0.5f) * scale - 0.5f : static_cast<float>(o) * scale;
    const float floor = std::floor(at);
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(floor), 0);
    const int64_t second = std::min<int64_t>(static_cast<int64_t>(std::ceil(at)), input - 1);
    return {first, second, at - static_cast<float>(first)};
  }
};

struct Image {
  int64_t batch, height, width, channels;
};

template <class T, class F>
void resize_pixels(const KernelContext& ctx, const Image& in, int64_t height, int64_t width,
                   F&& mix) {
  const T* x = ctx.input(0).as<T>().data();
  T* y = ctx.output(0).as<T>().data();
  const auto pixel = [&](int64_t n, int64_t r, int64_t c) {
    return x + ((n * in.height + r) * in.width + c) * in.channels;
  };
  for (int64_t n = 0; n < in.batch; ++n)
    for (int64_t r = 0; r < height; ++r)
      for (int64_t c = 0; c < width; ++c, y += in.channels) mix(n, r, c, pixel, y);
}

template <class T>
void resize_integer(const KernelContext& ctx, const Image& in, const ResizeDim& rows,
                    const ResizeDim& columns) {
  resize_pixels<T>(
      ctx, in, rows.output, columns.output,
      [&](int64_t n, int64_t r, int64_t c, auto&& pixel, T* y) {
        const auto v = rows.tap(r), h = columns.tap(c);
        const T *a = pixel(n, v.first, h.first), *b = pixel(n, v.second, h.first);
        const T *p = pixel(n, v.first, h.second), *q = pixel(n, v.second, h.second);
        const int64_t one = 1 << kFraction;
        for (int64_t k = 0; k < in.channels; ++k) {
          const int64_t sum = a[k] * (one - v.weight) * (one - h.weight) +
                              b[k] * v.weight * (one - h.weight) +
                              p[k] * (one - v.weight) * h.weight + q[k] * v.weight * h.weight;
          const int64_t round = int64_t{1} << (2 * kFraction - 1);
          y[k] =
              static_cast<T>((sum + (sum > 0 ? round : -round)) / (int64_t{1} << (2 * kFraction)));
        }
      });
}

void resize_u8(const KernelContext& ctx, const Image& in, CoordinateMode mode) {
  const auto out = ctx.output(0).shape;
  const FloatResizeDim rows(in.height, out[1], mode), columns(in.width, out[2], mode);
  resize_pixels<uint8_t>(
      ctx, in, out[1], out[2], [&](int64_t n, int64_t r, int64_t c, auto&& pixel, uint8_t* y) {
        const auto v = rows.tap(r), h = columns.tap(c);
        const uint8_t *a = pixel(n, v.first, h.first), *b = pixel(n, v.second, h.first);
        const uint8_t *p = pixel(n, v.first, h.second), *q = pixel(n, v.second, h.second);
        for (int64_t k = 0; k < in.channels; ++k) {
          const float mixed = static_cast<float>(a[k]) * (1 - v.weight) * (1 - h.weight) +
                              static_cast<float>(b[k]) * v.weight * (1 - h.weight) +
                              static_cast<float>(p[k]) * (1 - v.weight) * h.weight +
                              static_cast<float>(q[k]) * v.weight * h.weight;
          y[k] = static_cast<uint8_t>(mixed + 0.5f);
        }
      });
}

}  // namespace

// u8 is rescaled in float; the other types must agree already.
Status concat(KernelContext& ctx) {
  EC_TRY(const Params out, output_params(ctx));
  const MutableView& y = ctx.output(0);
  bool equal = true;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    EC_TRY(const Params in, input_params(ctx, i));
    equal = equal && in == out;
  }
  if (equal) return ctx.op().def().reference(ctx);
  if (y.dtype != DType::U8)
    return ctx.fail("the inputs have other quantisation parameters than the result")
        .hint("put a quantize in front of the inputs that differ");
  const int64_t given = ctx.attrs<AxisAttrs>().axis;
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(y.rank()) : given);
  const AxisSplit whole = split_at(y.shape, axis);
  uint8_t* target = y.as<uint8_t>().data();
  const float inverse = 1.0f / static_cast<float>(out.scale);
  for (int64_t o = 0; o < whole.outer; ++o)
    for (size_t i = 0; i < ctx.num_inputs(); ++i) {
      EC_TRY(const Params in, input_params(ctx, i));
      const int64_t run = ctx.input(i).shape[axis] * whole.inner;
      const uint8_t* x = ctx.input(i).as<uint8_t>().data() + o * run;
      const float scale = static_cast<float>(in.scale) * inverse;
      const float bias = static_cast<float>(-in.zero_point) * scale;
      for (int64_t k = 0; k < run; ++k)
        *target++ = in == out ? x[k]
                              : saturate<uint8_t>(int64_t{round_to_int32(double{std::round(
                                                      static_cast<float>(x[k]) * scale + bias)})} +
                                                  out.zero_point);
    }
  return {};
}

Status resize(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ResizeAttrs>();
  const ConstView& x = ctx.input(0);
  if (attrs.mode == ResizeMode::Nearest) return ctx.op().def().reference(ctx);
  const auto out = ctx.output(0).shape;
  const bool plain = attrs.mode == ResizeMode::Linear && x.rank() == 4 && !attrs.antialias &&
                     out[0] == x.shape[0] && out[3] == x.shape[3];
  if (!plain) return ctx.fail("integers are resized bilinearly, channels last, or by the nearest");
  const CoordinateMode mode = attrs.coordinates;
  if (mode != CoordinateMode::HalfPixel && mode != CoordinateMode::AlignCorners &&
      mode != CoordinateMode::Asymmetric)
    return ctx.fail("integers are resized with half pixels, aligned corners or plain scales");
  if (ctx.output(0).count() == 0) return {};
  for (const size_t d : {1u, 2u})
    if (x.shape[d] < 1 || x.shape[d] >= (1 << 20) || out[d] >= (1 << 20))
      return ctx.fail("the image is empty or too large to resize in integers");
  const Image image{x.shape[0], x.shape[1], x.shape[2], x.shape[3]};
  const ResizeDim rows(image.height, out[1], mode), columns(image.width, out[2], mode);
  switch (x.dtype) {
    case DType::I8:
      resize_integer<int8_t>(ctx, image, rows, columns);
      return {};
    case DType::I16:
      resize_integer<int16_t>(ctx, image, rows, columns);
      return {};
    case DType::U8:
      resize_u8(ctx, image, mode);
      return {};
    default:
      return unsupported_type(ctx, x.dtype);
  }
}

}  // namespace ec::quantized
