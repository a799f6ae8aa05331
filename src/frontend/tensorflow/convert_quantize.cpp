// Quantisation that training simulates (tensorflow-model-optimization): real values moved to the
// nearest of 2^bits steps over a range that contains zero exactly. The steps stay in the graph as
// quantize and dequantize with the trained parameters.
#include <algorithm>
#include <cmath>

#include "frontend/tensorflow/table.h"
#include "support/rounding.h"

namespace ec::tf {
namespace {

// Scale and zero point for steps [low, high] of a type with `offset` below its unsigned form.
struct Steps {
  std::vector<float> scales;
  std::vector<int64_t> zeros;  // counted from the lowest unsigned step
  float low = 0, high = 255;
};

// The range moved so that zero falls on a step, as TensorFlow's kernels do.
Result<Steps> steps_of(const OpContext& ctx, const std::vector<float>& mins,
                       const std::vector<float>& maxs, int64_t bits, bool narrow) {
  Steps steps;
  steps.low = narrow ? 1.0f : 0.0f;
  steps.high = static_cast<float>((int64_t{1} << bits) - 1);
  for (size_t i = 0; i < mins.size(); ++i) {
    const float min = mins[i], max = maxs[i];
    if (!std::isfinite(min) || !std::isfinite(max) || !(max >= min))
      return ctx.fail(Code::BadQuantParams, "the range " + std::to_string(min) + " to " +
                                                std::to_string(max) + " is not valid");
    // A range of nothing: all values are zero.
    const float scale = max == min ? 1.0f : (max - min) / (steps.high - steps.low);
    // Floats have no number for the distance of the largest ones, or for a part of the smallest.
    if (!std::isnormal(scale))
      return ctx.fail(Code::BadQuantParams, "the range " + std::to_string(min) + " to " +
                                                std::to_string(max) + " has no usable step");
    const float wanted = steps.low - min / scale;
    const float zero = round_half_away(std::clamp(wanted, steps.low, steps.high));
    steps.scales.push_back(scale);
    steps.zeros.push_back(static_cast<int64_t>(zero));
  }
  return steps;
}

// Signed steps are what integer kernels have: the unsigned ones moved down by half their number.
struct Parameters {
  ec::Tensor* scale;
  ec::Tensor* zero;
  DType dtype;
};

Parameters add_parameters(OpContext& ctx, const Steps& steps, int64_t bits, bool per_channel) {
  const int64_t half = int64_t{1} << (bits - 1);
  const auto count = static_cast<int64_t>(steps.scales.size());
  const Shape shape = per_channel ? Shape{count} : Shape{};
  Parameters p{};
  p.dtype = bits <= 8 ? DType::I8 : DType::I16;
  p.scale = ctx.graph().add_constant<float>("", shape, std::span<const float>(steps.scales));
  if (p.dtype == DType::I8) {
    std::vector<int8_t> zeros;
    for (const int64_t zero : steps.zeros) zeros.push_back(static_cast<int8_t>(zero - half));
    p.zero = ctx.graph().add_constant<int8_t>("", shape, std::span<const int8_t>(zeros));
  } else {
    std::vector<int16_t> zeros;
    for (const int64_t zero : steps.zeros) zeros.push_back(static_cast<int16_t>(zero - half));
    p.zero = ctx.graph().add_constant<int16_t>("", shape, std::span<const int16_t>(zeros));
  }
  return p;
}

// Steps that the type has beyond the range are cut off before rounding.
Result<ec::Tensor*> limited(OpContext& ctx, ec::Tensor* x, const Steps& steps, bool per_channel) {
  std::vector<float> lows, highs;
  for (size_t i = 0; i < steps.scales.size(); ++i) {
    const auto zero = static_cast<float>(steps.zeros[i]);
    lows.push_back((steps.low - zero) * steps.scales[i]);
    highs.push_back((steps.high - zero) * steps.scales[i]);
  }
  if (!per_channel) return ctx.clip(x, double{lows[0]}, double{highs[0]});
  const Shape shape{static_cast<int64_t>(lows.size())};
  EC_TRY(x, ctx.add(OpKind::Max,
                    {x, ctx.graph().add_constant<float>("", shape, std::span<const float>(lows))}));
  x = ctx.computed(x);
  return ctx.add(OpKind::Min,
                 {x, ctx.graph().add_constant<float>("", shape, std::span<const float>(highs))});
}

Status simulate(OpContext& ctx, const std::vector<float>& mins, const std::vector<float>& maxs,
                bool per_channel) {
  if (!is_float(ctx.dtype())) return ctx.fail(Code::TypeMismatch, "the input holds no floats");
  const int64_t bits = ctx.attr_int("num_bits", 8);
  const bool narrow = ctx.attr_bool("narrow_range");
  if (bits < 2 || bits > 16)
    return ctx.fail(Code::BadAttribute, std::to_string(bits) + " bits; 2 to 16 are possible");
  if (mins.size() != maxs.size() || mins.empty())
    return ctx.fail(Code::ShapeMismatch, "the numbers of minima and maxima differ");
  // A scale and a zero point for each.
  EC_CHECK_OK(ctx.take_room(mins.size() * (sizeof(float) + sizeof(int16_t))));
  EC_TRY(const Steps steps, steps_of(ctx, mins, maxs, bits, narrow));
  EC_TRY(const size_t rank, ctx.rank());
  if (per_channel && rank == 0) return ctx.fail(Code::ShapeMismatch, "the input has no channels");
  const Parameters p = add_parameters(ctx, steps, bits, per_channel);
  ec::Tensor* x = ctx.in(0);
  if (narrow || (bits != 8 && bits != 16)) {
    EC_TRY(x, limited(ctx, x, steps, per_channel));
    x = ctx.computed(x);
  }
  const auto axis = per_channel ? static_cast<int64_t>(rank) - 1 : 1;
  QuantizeAttrs to;
  to.dtype = p.dtype;
  to.axis = axis;
  to.rounding = Rounding::HalfAway;
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Quantize, {x, p.scale, p.zero}, to));
  // Weights are stored as the steps that they were trained to.
  y = ctx.computed(y);
  DequantizeAttrs from;
  from.axis = axis;
  return ctx.finish(OpKind::Dequantize, {y, p.scale, p.zero}, from);
}

Status with_attributes(OpContext& ctx) {
  return simulate(ctx, {ctx.attr_float("min", -6.0f)}, {ctx.attr_float("max", 6.0f)}, false);
}

template <bool kPerChannel>
Status with_variables(OpContext& ctx) {
  EC_TRY(const std::vector<float> mins, ctx.need_floats(1, "min"));
  EC_TRY(const std::vector<float> maxs, ctx.need_floats(2, "max"));
  // One range for all channels is how depthwise kernels are trained.
  return simulate(ctx, mins, maxs, kPerChannel && mins.size() > 1);
}

constexpr OpRow kRows[] = {
    {"FakeQuantWithMinMaxArgs", {1, 1}, with_attributes},
    {"FakeQuantWithMinMaxVars", {3, 3}, with_variables<false>},
    {"FakeQuantWithMinMaxVarsPerChannel", {3, 3}, with_variables<true>},
};

}  // namespace

const std::span<const OpRow> kQuantizeRows = kRows;

}  // namespace ec::tf
