// Element-wise functions of one quantised operand.
#include "ops/convert.h"
#include "ops/elementwise.h"
#include "ops/quantized/gemmlowp.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/lookup.h"
#include "ops/quantized/weighted_sum.h"

namespace ec::quantized {
namespace {

struct Ends {
  Params in, out;
};

Result<Ends> ends_of(const KernelContext& ctx) {
  Ends ends;
  EC_TRY(ends.in, input_params(ctx, 0));
  EC_TRY(ends.out, output_params(ctx));
  if (ctx.input(0).dtype != ctx.output(0).dtype)
    return ctx.fail("operand and result have different element types");
  if (!with_stored_type(ctx.input(0).dtype, [](auto) {}))
    return unsupported_type(ctx, ctx.input(0).dtype);
  return ends;
}

// y = f(x) on stored values.
template <class T, class F>
void map_stored(KernelContext& ctx, F&& f) {
  const auto x = ctx.input(0).as<T>();
  const auto y = ctx.output(0).as<T>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
}
// y = clamp(f(x - zero point) + zero point).
template <class F>
Status map_values(KernelContext& ctx, const Ends& ends, F&& f) {
  const Range range = type_range(ctx.output(0).dtype);
  with_stored_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    map_stored<T>(ctx, [&](T v) {
      return static_cast<T>(range.clamp(int64_t{f(v - ends.in.zero_point)} + ends.out.zero_point));
    });
  });
  return {};
}

template <class F>
Status map_by_table(KernelContext& ctx, F&& f) {
  EC_TRY(const Ends ends, ends_of(ctx));
  switch (ctx.input(0).dtype) {
    case DType::I8: {
      const auto table = make_table8<int8_t>(ends.in, ends.out, f);
      map_stored<int8_t>(ctx, [&](int8_t v) { return table[static_cast<uint8_t>(v)]; });
      return {};
    }
    case DType::U8: {
      const auto table = make_table8<uint8_t>(ends.in, ends.out, f);
      map_stored<uint8_t>(ctx, [&](uint8_t v) { return table[v]; });
      return {};
    }
    default: {
      const Table16 table =
          Table16::make<float>(static_cast<float>(ends.in.scale), ends.in.zero_point,
                               static_cast<float>(ends.out.scale), ends.out.zero_point, f);
      map_stored<int16_t>(ctx, table);
      return {};
    }
  }
}

// --- logistic and tanh on 16 bits ---------------------------------------------------------------

// 65536 * logistic(i / 24), raised by half of what a straight line to the next point is too low in
// the middle; the end at 10.625 is 1.
std::array<uint16_t, 256> make_logistic_points() {
  const auto f = [](double i) { return 65536.0 / (1.0 + std::exp(-i / 24.0)); };
  std::array<uint16_t, 256> points{};
  for (size_t i = 0; i < points.size(); ++i) {
    const auto at = static_cast<double>(i);
    const double error = f(at + 0.5) - (f(at) + f(at + 1.0)) / 2;
    points[i] = static_cast<uint16_t>(std::min(65535.0, std::round(f(at) + error / 2)));
  }
  points[255] = 65535;
  return points;
}
const std::array<uint16_t, 256>& logistic_points() {
  static const std::array<uint16_t, 256> kPoints = make_logistic_points();
  return kPoints;
}

// How inputs become multiples of 1 / (3 * 4096).
struct TableScale {
  int32_t factor = 0;
  int shift = 0;

  // Power-of-two scales of 2^-12 (and 2^-11 where `one_more`) need no rounding.
  TableScale(double scale, bool one_more) {
    int exponent = 0;
    const bool is_power = std::frexp(scale, &exponent) == 0.5;
    const int left = 12 + exponent - 1;
    if (is_power && (left == 0 || (one_more && left == 1))) {
      factor = 3 << left;
      return;
    }
    double multiplier = static_cast<double>(static_cast<float>(scale)) * 4096.0 * 3.0;
    while (multiplier <= 32767.0 / 2.0 && shift <= 30) {
      ++shift;
      multiplier *= 2.0;
    }
    factor = round_down(multiplier);
  }
  int32_t operator()(int16_t x) const {
    const int64_t round = shift > 0 ? int64_t{1} << (shift - 1) : 0;
    return static_cast<int32_t>((int64_t{x} * factor + round) >> shift);
  }

 private:
  static int32_t round_down(double v) {
    return v >= 2147483647.0 ? std::numeric_limits<int32_t>::max() : static_cast<int32_t>(v);
  }
};

int16_t logistic_by_points(int32_t x) {
  const auto size = static_cast<uint32_t>(std::abs(int64_t{x}));
  const uint32_t at = size >> 9;
  uint32_t result = 0x7FFFu << 10;
  if (at < 255) {
    const uint32_t a = logistic_points()[at], b = logistic_points()[at + 1];
    result = (a << 9) + (size & 0x1ff) * (b - a);
  }
  result = x >= 0 ? result + (1u << 9) : (1u << 25) - result + (1u << 9) - 1;
  return static_cast<int16_t>(result >> 10);
}

int16_t tanh_by_points(int32_t x) {
  const auto size = static_cast<uint32_t>(std::abs(int64_t{x}));
  const uint32_t at = size >> 8;
  int32_t result = 0xFFFF << 8;
  if (at < 255) {
    const uint32_t a = logistic_points()[at], b = logistic_points()[at + 1];
    result = static_cast<int32_t>((a << 8) + (size & 0xff) * (b - a));
  }
  result = x >= 0 ? result - (1 << 23) + (1 << 7) : -result + (1 << 23) + (1 << 7) - 1;
  return static_cast<int16_t>(result >> 8);
}

Status expect_fraction(const KernelContext& ctx, const Ends& ends) {
  if (ends.in.zero_point == 0 && ends.out.zero_point == 0 && ends.out.scale == 1.0 / 32768)
    return {};
  return ctx.fail("16-bit values need zero points 0 and the result's scale 1/32768");
}

// --- hard_swish ---------------------------------------------------------------------------------

int16_t to_int16_factor(int32_t factor) {
  constexpr int32_t kHalf = 1 << 15;
  if (factor >= std::numeric_limits<int32_t>::max() - kHalf) return 32767;
  return static_cast<int16_t>((factor + kHalf) >> 16);
}

class HardSwish {
 public:
  explicit HardSwish(const Ends& ends) : ends_(ends) {
    const float in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
    const float fine = (1.0f / 128.0f) * in;
    out_ = quantize_multiplier(double{fine / out});
    relu_ = quantize_multiplier(double{fine / (3.0f / 32768.0f)});
    out_factor_ = to_int16_factor(out_.value);
    relu_factor_ = to_int16_factor(relu_.value);
  }
  bool is_representable() const { return out_.shift <= 0; }

  // x * relu6(x + 3) / 6 with 16-bit intermediates.
  int32_t operator()(int32_t x) const {
    const auto fine = static_cast<int16_t>(shift_left(x, 7));
    const int16_t scaled = doubling_high_mul(fine, out_factor_);
    int16_t relu = fine;
    if (relu_.shift > 0) relu = saturate<int16_t>(int64_t{relu} << std::min(relu_.shift - 1, 31));
    relu = doubling_high_mul(relu, relu_factor_);
    if (relu_.shift > 0) relu = saturate<int16_t>(int64_t{relu} * 2);
    if (relu_.shift < 0)
      relu = static_cast<int16_t>(divide_by_power_of_two(relu, std::min(-relu_.shift, 31)));
    // From [-1, 1] to [0, 1].
    relu = static_cast<int16_t>((relu + (1 << 15)) >> 1);
    const bool overflows = relu == -32768 && scaled == -32768;
    const auto product =
        overflows ? int16_t{32767} : static_cast<int16_t>(int32_t{relu} * scaled / (1 << 15));
    return static_cast<int16_t>(divide_by_power_of_two(product, std::min(-out_.shift, 31)));
  }

 private:
  Ends ends_;
  Multiplier out_, relu_;
  int16_t out_factor_ = 0, relu_factor_ = 0;
};

// Clamped to real bounds; TFLite scales in float.
Status clip_to(KernelContext& ctx, float low, float high) {
  EC_TRY(const Ends ends, ends_of(ctx));
  const auto in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
  const Multiplier m = quantize_multiplier(double{in / out});
  Range range = type_range(ctx.output(0).dtype);
  const auto bound = [&](float v) {
    return int64_t{ends.out.zero_point} + round_to_int32(double{std::round(v / out)});
  };
  if (std::isfinite(low))
    range.low = static_cast<int32_t>(std::clamp<int64_t>(bound(low), range.low, range.high));
  if (std::isfinite(high))
    range.high = static_cast<int32_t>(std::clamp<int64_t>(bound(high), range.low, range.high));
  const auto clipped = [&](int32_t v) {
    return range.clamp(int64_t{multiply(v - ends.in.zero_point, m)} + ends.out.zero_point);
  };
  with_stored_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) == 1) {
      std::array<T, 256> table{};
      for (int32_t v = std::numeric_limits<T>::min(); v <= std::numeric_limits<T>::max(); ++v)
        table[static_cast<uint8_t>(v)] = static_cast<T>(clipped(v));
      map_stored<T>(ctx, [&](T v) { return table[static_cast<uint8_t>(v)]; });
    } else {
      map_stored<T>(ctx, [&](T v) { return static_cast<T>(clipped(v)); });
    }
  });
  return {};
}

float bound_operand(const KernelContext& ctx, size_t i, float absent) {
  if (!ctx.has(i) || ctx.input(i).count() != 1) return absent;
  float value = 0.0f;
  load<float>(ctx.input(i), std::span(&value, 1));
  return value;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

Status sigmoid(KernelContext& ctx) {
  if (ctx.input(0).dtype != DType::I16)
    return map_by_table(ctx, [](float v) { return 1.0f / (1.0f + std::exp(-v)); });
  EC_TRY(const Ends ends, ends_of(ctx));
  EC_CHECK_OK(expect_fraction(ctx, ends));
  const TableScale scale(ends.in.scale, false);
  map_stored<int16_t>(ctx, [&](int16_t v) { return logistic_by_points(scale(v)); });
  return {};
}

Status tanh(KernelContext& ctx) {
  if (ctx.input(0).dtype != DType::I16)
    return map_by_table(ctx, [](float v) { return std::tanh(v); });
  EC_TRY(const Ends ends, ends_of(ctx));
  EC_CHECK_OK(expect_fraction(ctx, ends));
  const TableScale scale(ends.in.scale, true);
  map_stored<int16_t>(ctx, [&](int16_t v) { return tanh_by_points(scale(v)); });
  return {};
}

Status exp(KernelContext& ctx) {
  return map_by_table(ctx, [](float v) { return std::exp(v); });
}

Status log(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  const auto least = static_cast<float>(type_range(ctx.output(0).dtype).low - ends.out.zero_point) *
                     static_cast<float>(ends.out.scale);
  return map_by_table(ctx, [least](float v) { return v <= 0.0f ? least : std::log(v); });
}

Status elu(KernelContext& ctx) {
  if (ctx.attrs<AlphaAttrs>().alpha != 1.0f) return ctx.fail("only alpha 1 has an integer form");
  return map_by_table(ctx, [](float v) { return v < 0.0f ? std::expm1(v) : v; });
}

Status gelu(KernelContext& ctx) {
  if (ctx.attrs<GeluAttrs>().form == GeluForm::Exact)
    return map_by_table(ctx, [](float v) {
      return 0.5f * v * std::erfc(v * static_cast<float>(-0.70710678118654752440));
    });
  constexpr auto kScale = static_cast<float>(0.79788456080286535588);
  return map_by_table(ctx, [](float v) {
    return 0.5f * v * (1.0f + std::tanh(kScale * (v + 0.044715f * v * v * v)));
  });
}

// The quotient is cut off, not rounded.
Status sqrt(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  const auto in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
  bool negative = false;
  EC_CHECK_OK(map_values(ctx, ends, [&](int32_t v) {
    if (v < 0) negative = true;
    const float root = v < 0 ? 0.0f : std::sqrt(in * static_cast<float>(v));
    return static_cast<int32_t>(std::min(root / out, 1e9f));
  }));
  if (negative) return ctx.fail("square root of a negative number");
  return {};
}

Status rsqrt(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  const auto in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
  const auto stored = Reader<int64_t>(ctx.input(0));
  for (const int64_t v : stored.values())
    if (v < ends.in.zero_point) return ctx.fail("inverse square root of a negative number");
  if (ctx.input(0).dtype == DType::I16)
    return map_by_table(
        ctx, [out](float v) { return v <= 0.0f ? 32767.0f * out : 1.0f / std::sqrt(v); });
  const Multiplier m = quantize_multiplier(1.0 / double{std::sqrt(in) * out});
  constexpr int kShift = 20;
  return map_values(ctx, ends, [&](int32_t v) {
    // The largest result, whatever the zero point.
    if (v == 0) return 1 << 20;
    const Multiplier inverse = inverse_sqrt(v);
    const int32_t data = multiply(1, {inverse.value, inverse.shift + kShift});
    return multiply(data, {m.value, m.shift - kShift});
  });
}

Status abs(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  const auto in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
  const Multiplier m = quantize_multiplier(double{in / out});
  const bool rescale = in != out;
  return map_values(ctx, ends, [&](int32_t v) {
    const int32_t size = v < 0 ? -v : v;
    return rescale ? multiply(size, m) : size;
  });
}

Status hard_swish(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  if (ctx.input(0).dtype == DType::I16) return unsupported_type(ctx, DType::I16);
  const HardSwish f(ends);
  if (!f.is_representable())
    return ctx.fail(
        "the result's scale is too small for the input's: their ratio must be below 128");
  return map_values(ctx, ends, f);
}

Status leaky_relu(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  const auto in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
  const float slope = in * ctx.attrs<LeakyReluAttrs>().alpha / out;
  const Multiplier m = quantize_multiplier(double{in / out});
  const Multiplier below = quantize_multiplier(double{std::fabs(slope)});
  const int32_t sign = slope < 0.0f ? -1 : 1;
  return map_values(ctx, ends,
                    [&](int32_t v) { return v >= 0 ? multiply(v, m) : sign * multiply(v, below); });
}

Status prelu(KernelContext& ctx) {
  EC_TRY(const Ends ends, ends_of(ctx));
  EC_TRY(const Params slope, input_params(ctx, 1));
  const DType dtype = ctx.input(0).dtype;
  if (ctx.input(1).dtype != (dtype == DType::I16 ? DType::I8 : dtype))
    return unsupported_type(ctx, ctx.input(1).dtype);
  const auto in = static_cast<float>(ends.in.scale), out = static_cast<float>(ends.out.scale);
  const Multiplier m = quantize_multiplier(double{in / out});
  const Multiplier below = quantize_multiplier(double{in * static_cast<float>(slope.scale) / out});
  EC_TRY(const BroadcastPlan plan, ops::plan_operands(ctx, 2));
  const Reader<int64_t> x(ctx.input(0)), alpha(ctx.input(1));
  const Range range = type_range(dtype);
  Writer<int64_t> y(ctx.output(0));
  map_broadcast<int64_t>(plan, x.data(), alpha.data(), y.data(), [&](int64_t v, int64_t a) {
    const auto value = static_cast<int32_t>(v - ends.in.zero_point);
    const int32_t scaled =
        value >= 0 ? multiply(value, m)
                   : multiply(value * static_cast<int32_t>(a - slope.zero_point), below);
    return int64_t{range.clamp(int64_t{scaled} + ends.out.zero_point)};
  });
  y.commit();
  return {};
}

Status relu(KernelContext& ctx) { return clip_to(ctx, 0.0f, kInfinity); }

Status clip(KernelContext& ctx) {
  return clip_to(ctx, bound_operand(ctx, 1, -kInfinity), bound_operand(ctx, 2, kInfinity));
}

}  // namespace ec::quantized
