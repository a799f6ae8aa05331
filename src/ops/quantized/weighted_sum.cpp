#include "ops/quantized/weighted_sum.h"

#include <cmath>

#include "ops/convert.h"

namespace ec::quantized {
namespace {

// TFLite adds the zero point to the rounded quotient of floats.
int64_t quantized_bound(float value, const Params& out) {
  return int64_t{out.zero_point} +
         round_to_int32(double{std::round(value / static_cast<float>(out.scale))});
}

std::optional<FloatRange> bounds_of(Activation activation, float alpha, float beta) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (activation) {
    case Activation::None:
      return FloatRange{-kInfinity, kInfinity};
    case Activation::Relu:
      return FloatRange{0.0f, kInfinity};
    case Activation::Relu6:
      return FloatRange{0.0f, 6.0f};
    case Activation::Clip:
      return FloatRange{alpha, beta};
    default:
      return std::nullopt;
  }
}

Error no_integer_form(const KernelContext& ctx, Activation activation) {
  return ctx.fail("a fused " +
                  std::string(EnumText<Activation>::kNames[static_cast<size_t>(activation)]) +
                  " has no integer form");
}

}  // namespace

std::optional<Range> activation_range(Activation activation, float alpha, float beta,
                                      const Params& out, DType dtype) {
  const auto bounds = bounds_of(activation, alpha, beta);
  if (!bounds) return std::nullopt;
  const Range whole = type_range(dtype);
  Range range = whole;
  if (std::isfinite(bounds->low))
    range.low = static_cast<int32_t>(
        std::clamp<int64_t>(quantized_bound(bounds->low, out), whole.low, whole.high));
  if (std::isfinite(bounds->high))
    range.high = static_cast<int32_t>(
        std::clamp<int64_t>(quantized_bound(bounds->high, out), range.low, whole.high));
  return range;
}

Result<FloatRange> float_activation_range(const KernelContext& ctx, Activation activation,
                                          float alpha, float beta) {
  const auto bounds = bounds_of(activation, alpha, beta);
  if (!bounds) return no_integer_form(ctx, activation);
  return *bounds;
}

std::vector<int16_t> centred(const ConstView& view, int32_t zero_point) {
  std::vector<int16_t> out(static_cast<size_t>(view.count()));
  const bool direct = with_stored_type(view.dtype, [&](auto type) {
    const auto values = view.as<decltype(type)>();
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<int16_t>(int32_t{values[i]} - zero_point);
  });
  if (direct) return out;
  const Reader<int64_t> values(view);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int16_t>(static_cast<int32_t>(values[i]) - zero_point);
  return out;
}

Result<int32_t> weight_zero_point(const KernelContext& ctx, size_t operand) {
  const QuantParams* q = ctx.input(operand).quant;
  if (q == nullptr || q->zero_points.empty()) return 0;
  for (const int32_t zero_point : q->zero_points)
    if (zero_point != q->zero_points[0])
      return ctx.fail("operand " + std::to_string(operand) + " has several zero points");
  return q->zero_points[0];
}

double real_factor(double in, double weight, double out, bool in_float) {
  const double product =
      in_float ? double{static_cast<float>(in) * static_cast<float>(weight)} : in * weight;
  return product / out;
}

bool is_hybrid(const KernelContext& ctx) {
  return is_float(ctx.input(0).dtype) && !is_float(ctx.input(1).dtype);
}

Result<OutputStage> output_stage(const KernelContext& ctx, const StageRequest& request) {
  EC_TRY(const Params in, input_params(ctx, 0));
  EC_TRY(const Params out, output_params(ctx));
  EC_TRY(const auto scales, channel_scales(ctx, 1, request.axis, request.channels));
  const DType dtype = ctx.output(0).dtype;
  if (!with_stored_type(ctx.input(0).dtype, [](auto) {}) || dtype != ctx.input(0).dtype)
    return unsupported_type(ctx, dtype);
  OutputStage stage;
  stage.zero_point = out.zero_point;
  const bool in_float = scales.size() == 1 && (request.matrix || dtype == DType::U8);
  for (const float scale : scales) {
    if (request.fully_connected) stage.reals.push_back(in.scale * double{scale} / out.scale);
    stage.factors.push_back(
        quantize_multiplier(real_factor(in.scale, double{scale}, out.scale, in_float)));
  }
  const auto range =
      activation_range(request.activation, request.act_alpha, request.act_beta, out, dtype);
  if (!range) return no_integer_form(ctx, request.activation);
  stage.range = *range;
  stage.wide = dtype == DType::I16;
  if (!ctx.has(2)) return stage;
  const ConstView& bias = ctx.input(2);
  if (bias.dtype != DType::I32 && bias.dtype != DType::I64)
    return ctx.fail("the bias of integer sums must be i32 or i64, not " +
                    std::string(dtype_name(bias.dtype)));
  if (bias.count() != request.channels) return ctx.fail("the bias does not fit the channels");
  // TFLite sums 16-bit activations with a 32-bit bias in 32 bits.
  if (bias.dtype == DType::I32) stage.wide = false;
  stage.bias.resize(static_cast<size_t>(bias.count()));
  load<int64_t>(bias, stage.bias);
  return stage;
}

QuantizedRow quantize_symmetric(std::span<const float> row, int16_t* out) {
  float range = 0.0f;
  for (const float v : row) range = std::max(range, std::fabs(v));
  if (!(range > 0.0f) || !std::isfinite(range)) {
    std::fill_n(out, row.size(), int16_t{0});
    return {};
  }
  const float inverse = 127.0f / range;
  for (size_t i = 0; i < row.size(); ++i)
    out[i] = static_cast<int16_t>(
        std::clamp(round_to_int32(double{std::round(row[i] * inverse)}), -127, 127));
  return {range / 127.0f, 0};
}

QuantizedRow quantize_asymmetric(std::span<const float> row, int16_t* out) {
  double low = 0.0, high = 0.0;
  for (const float v : row) {
    low = std::min(low, double{v});
    high = std::max(high, double{v});
  }
  if (!(high > low) || !std::isfinite(high - low)) {
    std::fill_n(out, row.size(), int16_t{0});
    return {};
  }
  const double scale = (high - low) / 255.0;
  // The zero point comes from the end of the range that it is exact for.
  const double from_low = -128.0 - low / scale, from_high = 127.0 - high / scale;
  const double low_error = 128.0 + std::fabs(low / scale);
  const double high_error = 127.0 + std::fabs(high / scale);
  const double wanted = low_error < high_error ? from_low : from_high;
  QuantizedRow result{static_cast<float>(scale), 0};
  result.zero_point = wanted <= -128.0  ? -128
                      : wanted >= 127.0 ? 127
                                        : static_cast<int32_t>(std::round(wanted));
  const float inverse = 1.0f / result.scale;
  for (size_t i = 0; i < row.size(); ++i) {
    const float q = std::round(static_cast<float>(result.zero_point) + row[i] * inverse);
    out[i] =
        static_cast<int16_t>(std::clamp(round_to_int32(double{q}), -128, 127) - result.zero_point);
  }
  return result;
}

}  // namespace ec::quantized
