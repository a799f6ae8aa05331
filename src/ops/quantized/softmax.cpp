// softmax, log_softmax and L2 normalisation on integers, along the last or any axis.
#include "ops/axis.h"
#include "ops/quantized/gemmlowp.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/lookup.h"
#include "ops/quantized/params.h"

namespace ec::quantized {
namespace {

// The rows along an axis, each made contiguous: f(row in, row out).
template <class T, class Out = T, class F>
Status for_each_row(KernelContext& ctx, int64_t given_axis, F&& f) {
  const ConstView& x = ctx.input(0);
  EC_TRY(const int64_t axis, kernel_axis(ctx, given_axis, x.rank()));
  const AxisSplit split = split_at_axis(x.shape, axis);
  const T* in = x.as<T>().data();
  Out* out = ctx.output(0).as<Out>().data();
  std::vector<T> row(static_cast<size_t>(split.size));
  std::vector<Out> result(row.size());
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t n = 0; n < split.inner; ++n) {
      const int64_t first = o * split.size * split.inner + n;
      for (int64_t k = 0; k < split.size; ++k)
        row[static_cast<size_t>(k)] = in[first + k * split.inner];
      f(std::span<const T>(row), std::span<Out>(result));
      for (int64_t k = 0; k < split.size; ++k)
        out[first + k * split.inner] = result[static_cast<size_t>(k)];
    }
  return {};
}

// The factor that turns differences of stored values into fixed point with five integer bits, and
// the smallest difference it can hold.
struct DiffScaling {
  Multiplier factor;
  int32_t least = 0;
};
DiffScaling diff_scaling(double scale) {
  constexpr int kBits = 5;
  const double real = std::min(scale * (1 << (31 - kBits)), 2147483647.0);
  DiffScaling d{quantize_multiplier(real), 0};
  const double radius = 1.0 * ((1 << kBits) - 1) * static_cast<double>(int64_t{1} << (31 - kBits)) /
                        static_cast<double>(int64_t{1} << std::clamp(d.factor.shift, 0, 62));
  d.least = -static_cast<int32_t>(std::floor(radius));
  return d;
}

constexpr int kSumBits = 12;

// Sum of exp(x - max) with 12 integer bits.
template <class T>
int32_t sum_of_exps(std::span<const T> row, int32_t most, const DiffScaling& d) {
  uint32_t sum = 0;
  for (const T v : row) {
    const int32_t diff = v - most;
    if (diff >= d.least)
      sum += static_cast<uint32_t>(
          multiply_by_power_of_two(exp_of_negative(multiply(diff, d.factor), 5), -kSumBits));
  }
  return static_cast<int32_t>(sum);
}

template <class T, class Out = T>
void softmax_row(std::span<const T> row, std::span<Out> out, const DiffScaling& d) {
  constexpr int32_t kLow = std::numeric_limits<Out>::min(), kHigh = std::numeric_limits<Out>::max();
  constexpr int kBits = 8 * sizeof(Out);
  const int32_t most = *std::ranges::max_element(row);
  const Reciprocal scale = reciprocal(sum_of_exps(row, most, d), kSumBits);
  const int exponent = std::clamp(scale.bits_over_unit + 31 - kBits, 0, 31);
  for (size_t i = 0; i < row.size(); ++i) {
    const int32_t diff = row[i] - most;
    int32_t value = kLow;
    if (diff >= d.least) {
      const int32_t e = exp_of_negative(multiply(diff, d.factor), 5);
      value = std::clamp(divide_by_power_of_two(doubling_high_mul(scale.value, e), exponent) + kLow,
                         kLow, kHigh);
    }
    out[i] = static_cast<Out>(value);
  }
}

// Tables of exp over [-10, 0] and of 1 / (1 + x) over [0, 1], with 15 fraction bits.
struct WideSoftmaxTables {
  Table16 exp = Table16::make<double>(10.0 / 65535.0, 32767, 2.0 / 65535.0, 0,
                                      [](double v) { return std::exp(v); });
  Table16 inverse = Table16::make<double>(1.0 / 65535.0, -32768, 2.0 / 65535.0, 0,
                                          [](double v) { return 1.0 / (1.0 + v); });
};

void softmax_row16(std::span<const int16_t> row, std::span<int16_t> out, Multiplier factor,
                   const WideSoftmaxTables& tables) {
  const int32_t most = *std::ranges::max_element(row);
  int64_t sum = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const int32_t diff = multiply(row[i] - most, factor);
    out[i] = tables.exp(saturate<int16_t>(int64_t{diff} + 32767));
    sum += out[i];
  }
  const int headroom = leading_zeros(static_cast<uint32_t>(sum));
  if (headroom < 1 || headroom > 30) return;
  const int64_t shifted = ((sum << (headroom - 1)) + (1 << 13)) >> 14;
  const int16_t scale = tables.inverse(saturate<int16_t>(shifted - ((1 << 15) + (1 << 16))));
  const int right = 31 - headroom;
  const int64_t round = right > 0 ? int64_t{1} << (right - 1) : 0;
  for (int16_t& v : out)
    v = static_cast<int16_t>(std::clamp<int64_t>((int64_t{v} * scale + round) >> right, 0, 32767));
}

void log_softmax_row(std::span<const int8_t> row, std::span<int8_t> out, const DiffScaling& d,
                     Multiplier reverse) {
  const int32_t most = *std::ranges::max_element(row);
  const int32_t log_sum = log_of_at_least_one(sum_of_exps(row, most, d));
  const auto lowest =
      static_cast<int32_t>(static_cast<uint32_t>(log_sum) + static_cast<uint32_t>(INT32_MIN));
  const int32_t least = std::max(d.least - 1, multiply(lowest, reverse));
  for (size_t i = 0; i < row.size(); ++i) {
    const int32_t diff = row[i] - most;
    int32_t value = -128;
    if (diff > least) {
      const auto log = static_cast<int32_t>(static_cast<uint32_t>(multiply(diff, d.factor)) -
                                            static_cast<uint32_t>(log_sum));
      value = std::clamp(divide_by_power_of_two(log, 31 - 5 - 4) + 127, -128, 127);
    }
    out[i] = static_cast<int8_t>(value);
  }
}

// The output's parameters are fixed by the op.
Status expect_output(const KernelContext& ctx, const Params& out, double scale, int32_t zero) {
  if (std::fabs(out.scale - scale) <= scale * 1e-3 && out.zero_point == zero) return {};
  return ctx.fail("the result must have the scale " + std::to_string(scale) +
                  " and the zero point " + std::to_string(zero));
}

}  // namespace

Status softmax(KernelContext& ctx) {
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  const int64_t axis = ctx.attrs<AxisAttrs>().axis;
  if (ctx.output(0).count() == 0) return {};
  switch (ctx.input(0).dtype) {
    case DType::I8: {
      EC_CHECK_OK(expect_output(ctx, out, 1.0 / 256, -128));
      const DiffScaling d = diff_scaling(in.scale);
      return for_each_row<int8_t>(
          ctx, axis, [&](auto row, auto result) { softmax_row<int8_t>(row, result, d); });
    }
    case DType::U8: {
      const DiffScaling d = diff_scaling(in.scale);
      return for_each_row<uint8_t>(
          ctx, axis, [&](auto row, auto result) { softmax_row<uint8_t>(row, result, d); });
    }
    case DType::I16: {
      EC_CHECK_OK(expect_output(ctx, out, 1.0 / 32768, 0));
      const Multiplier factor = quantize_multiplier(in.scale / (10.0 / 65535.0));
      const WideSoftmaxTables tables;
      return for_each_row<int16_t>(
          ctx, axis, [&](auto row, auto result) { softmax_row16(row, result, factor, tables); });
    }
    default:
      return unsupported_type(ctx, ctx.input(0).dtype);
  }
}

Status softmax_i16(KernelContext& ctx) {
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  EC_CHECK_OK(expect_output(ctx, out, 1.0 / 65536, -32768));
  if (ctx.output(0).count() == 0) return {};
  const DiffScaling d = diff_scaling(in.scale);
  return for_each_row<int8_t, int16_t>(
      ctx, ctx.attrs<AxisAttrs>().axis,
      [&](auto row, auto result) { softmax_row<int8_t, int16_t>(row, result, d); });
}

Status log_softmax(KernelContext& ctx) {
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  if (ctx.input(0).dtype != DType::I8) return unsupported_type(ctx, ctx.input(0).dtype);
  EC_CHECK_OK(expect_output(ctx, out, 16.0 / 256, 127));
  if (ctx.output(0).count() == 0) return {};
  const DiffScaling d = diff_scaling(in.scale);
  const Multiplier reverse =
      d.factor.value == 0
          ? Multiplier{}
          : quantize_multiplier(std::ldexp(1.0, 31 - d.factor.shift) / d.factor.value);
  return for_each_row<int8_t>(ctx, ctx.attrs<AxisAttrs>().axis, [&](auto row, auto result) {
    log_softmax_row(row, result, d, reverse);
  });
}

Status lp_norm(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<LpNormAttrs>();
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  if (attrs.p != 2) return ctx.fail("only the Euclidean norm has an integer form");
  const bool is_signed = ctx.input(0).dtype == DType::I8;
  if (!is_signed && ctx.input(0).dtype != DType::U8)
    return unsupported_type(ctx, ctx.input(0).dtype);
  EC_CHECK_OK(expect_output(ctx, out, 1.0 / 128, is_signed ? 0 : 128));
  if (ctx.output(0).count() == 0) return {};
  const auto normalize = [&](auto row, auto result) {
    using T = typename decltype(result)::element_type;
    uint32_t sum = 0;
    for (const T v : row) {
      const int32_t x = v - in.zero_point;
      sum += static_cast<uint32_t>(x * x);
    }
    Multiplier m = inverse_sqrt(static_cast<int32_t>(sum));
    if constexpr (std::is_same_v<T, int8_t>) m.shift += 7;
    for (size_t i = 0; i < row.size(); ++i) {
      const int32_t x = row[i] - in.zero_point;
      if constexpr (std::is_same_v<T, int8_t>)
        result[i] = saturate<int8_t>(multiply(x, m));
      else
        result[i] = saturate<uint8_t>(int64_t{128} + multiply(128 * x, m));
    }
  };
  if (is_signed) return for_each_row<int8_t>(ctx, attrs.axis, normalize);
  return for_each_row<uint8_t>(ctx, attrs.axis, normalize);
}

}  // namespace ec::quantized
