#include "ops/quantized/params.h"

#include <cmath>

#include "ops/convert.h"

namespace ec::quantized {
namespace {

Result<Params> single(const KernelContext& ctx, const QuantParams* q, const std::string& what) {
  if (q == nullptr) return ctx.fail(what + " has no quantisation parameters");
  if (q->per_channel() && q->scales.size() != 1)
    return ctx.fail(what + " has parameters per channel where one scale is needed");
  if (q->scales.size() != 1 || q->zero_points.size() > 1)
    return ctx.fail(what + " has " + std::to_string(q->scales.size()) + " scales");
  if (!(q->scales[0] > 0.0f) || !std::isfinite(q->scales[0]))
    return ctx.fail(what + " has a scale that is not positive");
  return Params{double{q->scales[0]}, q->zero_points.empty() ? 0 : q->zero_points[0]};
}

}  // namespace

Result<Params> input_params(const KernelContext& ctx, size_t i) {
  return single(ctx, ctx.input(i).quant, "operand " + std::to_string(i));
}

Result<Params> output_params(const KernelContext& ctx, size_t i) {
  return single(ctx, ctx.output(i).quant, "result " + std::to_string(i));
}

Result<std::span<const float>> channel_scales(const KernelContext& ctx, size_t i, int32_t axis,
                                              int64_t count) {
  const QuantParams* q = ctx.input(i).quant;
  const std::string what = "operand " + std::to_string(i);
  if (q == nullptr) return ctx.fail(what + " has no quantisation parameters");
  const bool fits = q->scales.size() == 1 || (q->per_channel() && q->axis == axis &&
                                              q->scales.size() == static_cast<size_t>(count));
  if (!fits)
    return ctx.fail(what + " has " + std::to_string(q->scales.size()) +
                    " scales that do not fit axis " + std::to_string(axis));
  for (const float scale : q->scales)
    if (!(scale >= 0.0f) || !std::isfinite(scale))
      return ctx.fail(what + " has a scale that is negative or not finite");
  return std::span<const float>(q->scales);
}

Range type_range(DType dtype) {
  switch (dtype) {
    case DType::U8:
      return {0, 255};
    case DType::I16:
      return {-32768, 32767};
    case DType::I4:
      return {-8, 7};
    case DType::I32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      return {-128, 127};
  }
}

Error unsupported_type(const KernelContext& ctx, DType dtype) {
  return ctx
      .fail("there is no integer arithmetic of " + std::string(ctx.op().def().name) + " on " +
            std::string(dtype_name(dtype)))
      .hint("i8, u8 and i16 activations are supported");
}

}  // namespace ec::quantized
