// quantize, requantise and dequantize with the parameters that the tensors carry.
#include "ops/convert.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/params.h"
#include "ops/quantized/real.h"
#include "support/rounding.h"

namespace ec::quantized {
namespace {

// Parameters of result 0 as [outer, axis, inner] runs.
struct Runs {
  const QuantParams* q = nullptr;
  int64_t outer = 1, size = 1, inner = 1;
};

Result<Runs> result_runs(const KernelContext& ctx) {
  const MutableView& y = ctx.output(0);
  Runs runs{y.quant};
  if (y.quant == nullptr)
    return ctx.fail("the result has no quantisation parameters and no scale is given");
  const size_t scales = y.quant->scales.size();
  if (scales == 0 || y.quant->zero_points.size() != scales)
    return ctx.fail("the result has incomplete quantisation parameters");
  runs.inner = y.count();
  if (scales == 1) return runs;
  if (!y.quant->per_channel() || static_cast<size_t>(y.quant->axis) >= y.rank() ||
      y.shape[static_cast<size_t>(y.quant->axis)] != static_cast<int64_t>(scales))
    return ctx.fail("the result has " + std::to_string(scales) +
                    " scales that do not fit its axis");
  const auto axis = static_cast<size_t>(y.quant->axis);
  runs.outer = count_elements(y.shape.first(axis));
  runs.size = y.shape[axis];
  runs.inner = count_elements(y.shape.subspan(axis + 1));
  return runs;
}

Status quantize_reals(KernelContext& ctx) {
  EC_TRY(const Runs runs, result_runs(ctx));
  const MutableView& y = ctx.output(0);
  const bool half_away = ctx.attrs<QuantizeAttrs>().rounding == Rounding::HalfAway;
  const Range range = type_range(y.dtype);
  const Reader<float> x(ctx.input(0));
  std::vector<int64_t> out(x.size());
  size_t at = 0;
  for (int64_t o = 0; o < runs.outer; ++o)
    for (size_t k = 0; k < static_cast<size_t>(runs.size); ++k) {
      const float scale = runs.q->scales[k];
      const int64_t zero_point = runs.q->zero_points[k];
      for (int64_t n = 0; n < runs.inner; ++n, ++at) {
        const float real = x[at] / scale;
        const float rounded = half_away ? std::round(real) : round_half_even(real);
        out[at] = range.clamp(round_to_int32(double{rounded}) + zero_point);
      }
    }
  store<int64_t>(y, out);
  return {};
}

struct Requantizer {
  Params from, to;
  Multiplier factor;
  Range range;

  int32_t operator()(int64_t x) const {
    const auto value =
        static_cast<int32_t>(static_cast<uint32_t>(x) - static_cast<uint32_t>(from.zero_point));
    return range.clamp(static_cast<int64_t>(multiply(value, factor)) + to.zero_point);
  }
};

// Bytes have 256 values: a table of their results.
void requantize_bytes(const ConstView& x, const MutableView& y, const Requantizer& f) {
  const int32_t lowest = type_range(x.dtype).low;
  uint8_t table[256];
  for (int32_t v = lowest; v < lowest + 256; ++v)
    table[static_cast<uint8_t>(v)] = static_cast<uint8_t>(f(v));
  const auto in = x.as<uint8_t>();
  const auto out = y.as<uint8_t>();
  for (size_t i = 0; i < in.size(); ++i) out[i] = table[in[i]];
}

Status requantize(KernelContext& ctx) {
  EC_TRY(const Params from, input_params(ctx, 0));
  EC_TRY(const Params to, output_params(ctx));
  const MutableView& y = ctx.output(0);
  const Requantizer f{from, to, quantize_multiplier(from.scale / to.scale), type_range(y.dtype)};
  const auto is_byte = [](DType dtype) { return dtype == DType::I8 || dtype == DType::U8; };
  if (is_byte(ctx.input(0).dtype) && is_byte(y.dtype)) {
    requantize_bytes(ctx.input(0), y, f);
    return {};
  }
  const Reader<int64_t> x(ctx.input(0));
  std::vector<int64_t> out(x.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = f(x[i]);
  store<int64_t>(y, out);
  return {};
}

}  // namespace

Status quantize(KernelContext& ctx) {
  if (ctx.has(1)) return ctx.op().def().reference(ctx);
  return is_float(ctx.input(0).dtype) ? quantize_reals(ctx) : requantize(ctx);
}

Status dequantize(KernelContext& ctx) {
  if (ctx.has(1)) return ctx.op().def().reference(ctx);
  if (ctx.input(0).quant == nullptr)
    return ctx.fail("the input has no quantisation parameters and no scale is given");
  EC_TRY(const std::vector<float> values, ops::real_values(ctx, 0));
  store<float>(ctx.output(0), values);
  return {};
}

}  // namespace ec::quantized
