// Linear quantisation: real = scale * (quantised - zero_point), with parameters per tensor, per
// index of an axis, or per block along an axis. Semantics of ONNX QuantizeLinear, DequantizeLinear
// and DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/fake_quant.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/params.h"
#include "support/rounding.h"

namespace ec::ops {
namespace {

bool is_quantized_type(DType dtype) {
  switch (dtype) {
    case DType::I8:
    case DType::U8:
    case DType::I16:
    case DType::U16:
    case DType::I4:
    case DType::U4:
    case DType::I2:
    case DType::U2:
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
    case DType::F4E2M1:
      return true;
    default:
      return false;
  }
}

// --- which parameter belongs to an element
// -------------------------------------------------------- The tensor seen as [outer, size, inner]
// around the axis. A row (outer, size) starts at parameter index first(o, k) and steps by `step`
// along inner.
struct Granularity {
  AxisSplit split;
  int64_t step = 0;
  int64_t axis_step = 0;   // per tensor: 0; per axis and blocked: parameters per axis index
  int64_t outer_step = 0;  // blocked: parameters per outer index
  int64_t block = 1;

  int64_t first(int64_t o, int64_t k) const { return o * outer_step + k / block * axis_step; }
};

// Checks the numbers of parameters: an operand's shape can still be open when inference sees it.
Result<Granularity> granularity_of(const KernelContext& ctx, int64_t given_axis,
                                   int64_t block_size) {
  const auto shape = ctx.input(0).shape;
  const int64_t scales = ctx.input(1).count();
  if (ctx.has(2) && ctx.input(2).count() != scales)
    return ctx.fail("scale and zero point have different shapes");
  Granularity g;
  if (block_size == 0 && scales == 1) {
    g.split = {1, 1, count_elements(shape)};
    return g;
  }
  EC_TRY(const int64_t axis, kernel_axis(ctx, given_axis, shape.size()));
  g.split = split_at_axis(shape, axis);
  int64_t expected = g.split.size;
  if (block_size == 0) {
    g.axis_step = 1;
  } else {
    g.block = block_size;
    g.step = 1;
    g.axis_step = g.split.inner;
    const int64_t blocks = g.split.size / block_size + (g.split.size % block_size != 0 ? 1 : 0);
    g.outer_step = blocks * g.split.inner;
    expected = g.split.outer * g.outer_step;
  }
  if (scales != expected)
    return ctx.fail("scale has " + std::to_string(scales) + " values where " +
                    std::to_string(expected) + " are needed");
  return g;
}

// Calls f(first element, first parameter, length) for all runs of elements in order. Along a run
// the parameter is fixed (step 0) or steps with the element (step 1).
template <class F>
void for_each_parameter_run(const Granularity& g, F&& f) {
  size_t at = 0;
  for (int64_t o = 0; o < g.split.outer; ++o)
    for (int64_t k = 0; k < g.split.size; ++k, at += static_cast<size_t>(g.split.inner))
      f(at, static_cast<size_t>(g.first(o, k)), static_cast<size_t>(g.split.inner));
}

// out[i] = f(x[i], scale, zero) for every element with its parameters.
template <class C, class F>
void map_with_parameters(const Granularity& g, const C* x, const C* scale, const C* zero, C* out,
                         F&& f) {
  for_each_parameter_run(g, [&](size_t at, size_t p, size_t n) {
    if (g.step == 0) {
      const C s = scale[p], z = zero[p];
      for (size_t i = at; i < at + n; ++i) out[i] = f(x[i], s, z);
    } else {
      for (size_t i = 0; i < n; ++i) out[at + i] = f(x[at + i], scale[p + i], zero[p + i]);
    }
  });
}

// --- kernels ------------------------------------------------------------------------------------
template <class C>
std::vector<C> zero_points(const KernelContext& ctx, size_t count) {
  if (!ctx.has(2)) return std::vector<C>(count, C{0});
  const Reader<C> given(ctx.input(2));
  return {given.values().begin(), given.values().end()};
}

// One scale for all elements, from floats to 8 or 16 bits and back without copies in between. The
// bounds are whole numbers: what is cut off before rounding would be cut off behind it.
template <class T>
void quantize_whole(std::span<const float> x, float scale, float zero, bool half_away, T* y) {
  const float low = static_cast<float>(std::numeric_limits<T>::min()) - zero;
  const float high = static_cast<float>(std::numeric_limits<T>::max()) - zero;
  const auto inside = [&](float v) { return v > low ? std::min(v, high) : low; };
  for (size_t i = 0; i < x.size(); ++i) {
    const float steps = inside(x[i] / scale);
    y[i] = static_cast<T>((half_away ? round_half_away(steps) : round_half_even(steps)) + zero);
  }
}
template <class T>
void dequantize_whole(std::span<const T> x, float scale, float zero, float* y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}
// The one scale and zero point, where the whole tensor has one of floats.
struct WholeParams {
  float scale, zero;
};
std::optional<WholeParams> whole_params(const KernelContext& ctx) {
  if (ctx.input(1).dtype != DType::F32 || ctx.input(1).count() != 1) return std::nullopt;
  if (!ctx.has(2)) return WholeParams{ctx.input(1).as<float>()[0], 0.0f};
  const Reader<float> zero(ctx.input(2));
  return WholeParams{ctx.input(1).as<float>()[0], zero[0]};
}

// x / scale + zero point, rounded and saturated for integers; NaN becomes the lowest value.
template <class C>
void quantize_as(KernelContext& ctx, const Granularity& g) {
  const MutableView& y = ctx.output(0);
  const Reader<C> x(ctx.input(0)), scale(ctx.input(1));
  const std::vector<C> zero = zero_points<C>(ctx, scale.size());
  std::vector<C> out(x.size());
  const auto map = [&](auto&& f) {
    map_with_parameters(g, x.data(), scale.data(), zero.data(), out.data(), f);
  };
  if (is_integer(y.dtype)) {
    const auto low = static_cast<C>(lowest_integer(y.dtype));
    const auto high = static_cast<C>(highest_integer(y.dtype));
    const bool half_away = ctx.attrs<QuantizeAttrs>().rounding == Rounding::HalfAway;
    map([low, high, half_away](C v, C s, C z) {
      const C q = (half_away ? round_half_away(v / s) : round_half_even(v / s)) + z;
      return q > low ? std::min(q, high) : low;
    });
  } else {
    map([](C v, C s, C z) { return v / s + z; });
  }
  if constexpr (std::is_same_v<C, float>)
    if (!ctx.attrs<QuantizeAttrs>().saturate && small_float_format(y.dtype) != nullptr)
      return store_unsaturated(y, out);
  store<C>(y, out);
}

Status quantize(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<QuantizeAttrs>();
  const ConstView& x = ctx.input(0);
  if (x.count() == 0) return {};
  if (!ctx.has(1)) return ctx.fail("no scale is given and the result carries no parameters");
  EC_TRY(const Granularity g, granularity_of(ctx, attrs.axis, attrs.block_size));
  if (const auto whole = x.dtype == DType::F32 ? whole_params(ctx) : std::nullopt) {
    const bool half_away = attrs.rounding == Rounding::HalfAway;
    const bool done = quantized::with_stored_type(ctx.output(0).dtype, [&](auto type) {
      quantize_whole(x.as<float>(), whole->scale, whole->zero, half_away,
                     ctx.output(0).as<decltype(type)>().data());
    });
    if (done) return {};
  }
  // Integers need more digits than float has; 8-bit floats have fewer.
  const bool wide = x.dtype == DType::F64 || is_integer(x.dtype);
  if (wide && is_integer(attrs.dtype))
    quantize_as<double>(ctx, g);
  else
    quantize_as<float>(ctx, g);
  return {};
}

// (x - zero point) is exact in C: float for types up to 16 bits, double for wider ones.
template <class C>
void dequantize_as(KernelContext& ctx, const Granularity& g) {
  const Reader<C> x(ctx.input(0)), scale(ctx.input(1));
  const std::vector<C> zero = zero_points<C>(ctx, scale.size());
  Writer<C> y(ctx.output(0));
  map_with_parameters(g, x.data(), scale.data(), zero.data(), y.data(),
                      [](C v, C s, C z) { return (v - z) * s; });
  y.commit();
}

Status dequantize(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<DequantizeAttrs>();
  const ConstView& x = ctx.input(0);
  if (x.count() == 0) return {};
  if (!ctx.has(1)) return ctx.fail("no scale is given and the input carries no parameters");
  EC_TRY(const Granularity g, granularity_of(ctx, attrs.axis, attrs.block_size));
  if (const auto whole = attrs.dtype == DType::F32 ? whole_params(ctx) : std::nullopt) {
    const bool done = quantized::with_stored_type(x.dtype, [&](auto type) {
      dequantize_whole(x.as<decltype(type)>(), whole->scale, whole->zero,
                       ctx.output(0).as<float>().data());
    });
    if (done) return {};
  }
  if (x.dtype == DType::I32 || attrs.dtype == DType::F64)
    dequantize_as<double>(ctx, g);
  else
    dequantize_as<float>(ctx, g);
  return {};
}

Status dynamic_quantize(KernelContext& ctx) {
  const Reader<float> x(ctx.input(0));
  float low = 0.0f, high = 0.0f;
  for (const float v : x.values()) {
    low = min_of(low, v);
    high = max_of(high, v);
  }
  const float scale = (high == low ? 1.0f : high - low) / 255.0f;
  const auto saturate = [](float v) { return v > 0.0f ? std::min(v, 255.0f) : 0.0f; };
  const float zero = round_half_even(saturate(-low / scale));
  const auto y = ctx.output(0).as<uint8_t>();
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<uint8_t>(saturate(round_half_even(x[i] / scale) + zero));
  ctx.output(1).as<float>()[0] = scale;
  ctx.output(2).as<uint8_t>()[0] = static_cast<uint8_t>(zero);
  return {};
}

// The nearest step within the range.
Status fake_quant(KernelContext& ctx) {
  const auto [scale, low, high] = fake_quant_steps(ctx.attrs<FakeQuantAttrs>());
  const float steps = 1.0f / scale;
  const Reader<float> x(ctx.input(0));
  Writer<float> y(ctx.output(0));
  for (size_t i = 0; i < x.size(); ++i) {
    const float inside = std::min(high, std::max(low, x[i]));
    y[i] = round_half_away((inside - low) * steps) * scale + low;
  }
  y.commit();
  return {};
}

// --- inference ----------------------------------------------------------------------------------
Status infer_fake_quant(InferContext& ctx) {
  const auto& attrs = ctx.attrs<FakeQuantAttrs>();
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  if (attrs.num_bits < 2 || attrs.num_bits > 16)
    return ctx.bad_value("num_bits is " + std::to_string(attrs.num_bits) +
                         "; 2 to 16 are possible");
  if (!(attrs.min <= 0.0f && attrs.max >= 0.0f && attrs.min < attrs.max) ||
      !std::isfinite(attrs.max - attrs.min))
    return ctx.bad_value("the range must be finite and contain zero");
  return infer_same_as_first(ctx);
}

Dim ceil_div(const Dim& size, int64_t block) {
  if (!size.is_static()) return block == 1 ? size : Dim::unknown();
  return size.size() / block + (size.size() % block != 0 ? 1 : 0);
}

bool may_equal(const Dim& a, const Dim& b) {
  return !a.is_static() || !b.is_static() || a.size() == b.size();
}

Status check_block_scale(const InferContext& ctx, const Shape& x, const Shape& scale, int64_t axis,
                         int64_t block_size) {
  bool fits = scale.rank() == x.rank();
  for (size_t d = 0; fits && d < x.rank(); ++d) {
    const bool blocked = d == static_cast<size_t>(axis);
    fits = may_equal(scale[d], blocked ? ceil_div(x[d], block_size) : x[d]);
  }
  if (fits) return {};
  return ctx.bad_shape("scale " + operand_text(ctx, 1) + " does not fit blocks of " +
                       std::to_string(block_size) + " along axis " + std::to_string(axis) + " of " +
                       operand_text(ctx, 0));
}

// The scale's shape against the input's: one value, one per index of the axis, or one per block.
Status check_scale(const InferContext& ctx, int64_t given_axis, int64_t block_size) {
  if (block_size < 0)
    return ctx.bad_value("block_size is " + std::to_string(block_size) + "; it cannot be negative");
  if (!ctx.shape(1)) return {};
  const Shape& scale = *ctx.shape(1);
  const bool single = scale.num_elements() == 1;
  if (block_size == 0 && single) return {};
  if (block_size == 0 && scale.rank() > 1)
    return ctx.bad_shape("scale " + operand_text(ctx, 1) +
                         " needs a block size, or at most one dimension");
  if (!ctx.shape(0)) return {};
  const Shape& x = *ctx.shape(0);
  // A list of open length may turn out to be one value, which needs no axis.
  if (block_size == 0 && !scale.is_static() && given_axis >= static_cast<int64_t>(x.rank()))
    return {};
  EC_TRY(const int64_t axis, normalize_axis(ctx, given_axis, x.rank()));
  if (block_size > 0) return check_block_scale(ctx, x, scale, axis, block_size);
  if (may_equal(scale[0], x[static_cast<size_t>(axis)])) return {};
  return ctx.bad_shape("scale " + operand_text(ctx, 1) + " does not fit axis " +
                       std::to_string(axis) + " of " + operand_text(ctx, 0));
}

// The zero point has the quantised type and the scale's shape.
Status check_zero_point(const InferContext& ctx, DType quantized) {
  if (!ctx.has(2)) return {};
  if (ctx.dtype(2) != quantized)
    return ctx.bad_type("zero point " + operand_text(ctx, 2) + " is not of the quantised type " +
                        std::string(dtype_name(quantized)));
  if (!ctx.shape(1) || !ctx.shape(2)) return {};
  const auto scales = ctx.shape(1)->num_elements(), zeros = ctx.shape(2)->num_elements();
  if (!scales || !zeros || *scales == *zeros) return {};
  return ctx.bad_shape("zero point " + operand_text(ctx, 2) + " and scale " + operand_text(ctx, 1) +
                       " have different shapes");
}

// Powers of two are scales; other small floats are numbers to be scaled.
bool is_scale_type(DType dtype) {
  return is_float(dtype) && (bit_width(dtype) >= 16 || dtype == DType::F8E8M0);
}

Status check_scale_type(const InferContext& ctx, bool or_integers) {
  if (is_scale_type(ctx.dtype(1)) || (or_integers && ctx.dtype(1) == DType::I32)) return {};
  return ctx.bad_type("scale is " + operand_text(ctx, 1) +
                      "; it must be floating point of 16 bits or more");
}

Status infer_quantize(InferContext& ctx) {
  const auto& attrs = ctx.attrs<QuantizeAttrs>();
  const bool from_metadata = !ctx.has(1);
  const bool is_stored = from_metadata && ctx.type(0).quant.has_value();
  if (!is_float(ctx.dtype(0)) && ctx.dtype(0) != DType::I32 && !is_stored)
    return ctx.bad_type("input is " + operand_text(ctx, 0) + "; it must be floating point or i32");
  if (!is_quantized_type(attrs.dtype) && !(from_metadata && attrs.dtype == DType::I32))
    return ctx.bad_type(std::string(dtype_name(attrs.dtype)) + " is not a quantised type");
  if (!from_metadata) {
    EC_CHECK_OK(check_scale_type(ctx, true));
    EC_CHECK_OK(check_scale(ctx, attrs.axis, attrs.block_size));
    EC_CHECK_OK(check_zero_point(ctx, attrs.dtype));
  }
  ctx.set(0, attrs.dtype, ctx.shape(0));
  return {};
}

Status infer_dequantize(InferContext& ctx) {
  const auto& attrs = ctx.attrs<DequantizeAttrs>();
  if (!is_quantized_type(ctx.dtype(0)) && ctx.dtype(0) != DType::I32)
    return ctx.bad_type("input is " + operand_text(ctx, 0) + "; it must have a quantised type");
  if (!is_float(attrs.dtype))
    return ctx.bad_type(std::string(dtype_name(attrs.dtype)) + " is not a floating point type");
  if (ctx.has(1)) {
    EC_CHECK_OK(check_scale_type(ctx, false));
    EC_CHECK_OK(check_scale(ctx, attrs.axis, attrs.block_size));
    EC_CHECK_OK(check_zero_point(ctx, ctx.dtype(0)));
  }
  ctx.set(0, attrs.dtype, ctx.shape(0));
  return {};
}

Status infer_dynamic_quantize(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  ctx.set(0, DType::U8, ctx.shape(0));
  ctx.set(1, DType::F32, Shape{});
  ctx.set(2, DType::U8, Shape{});
  return {};
}

}  // namespace

constexpr Rule kQuantizeRules[] = {rule::at_least("block_size", 0)};
EC_OP_DEF(
    Quantize, .signature = "(x, scale?, zero_point?) -> y",
    .summary =
        "saturate(round(x / scale) + zero_point), with parameters per tensor, per index of an "
        "axis or per block along it. Without a scale the parameters are the result's own, and "
        "x may be quantised already.",
    .rules = kQuantizeRules, .infer = infer_quantize, .reference = quantize,
    .quantized = quantized::quantize, .layout = LayoutRule::AxisAttr);
EC_OP_DEF(Dequantize, .signature = "(x, scale?, zero_point?) -> y",
          .summary =
              "(x - zero_point) * scale, with parameters per tensor, per index of an axis or per "
              "block along it. Without a scale the parameters are those of x.",
          .rules = kQuantizeRules, .infer = infer_dequantize, .reference = dequantize,
          .quantized = quantized::dequantize, .layout = LayoutRule::AxisAttr);
EC_OP_DEF(DynamicQuantize, .signature = "(x) -> (y, scale, zero_point)",
          .summary =
              "Quantises to u8 with the scale and zero point of the tensor's own range, "
              "widened to hold 0.",
          .infer = infer_dynamic_quantize, .reference = dynamic_quantize,
          .layout = LayoutRule::Fixed);
constexpr Rule kFakeQuantRules[] = {rule::floats("x"), rule::between("num_bits", 2, 16)};
EC_OP_DEF(
    FakeQuant, .signature = "(x) -> y",
    .summary = "x rounded to the nearest of 2^num_bits equal steps over a range, kept as a float.",
    .rules = kFakeQuantRules, .traits = {.elementwise = true}, .infer = infer_fake_quant,
    .reference = fake_quant, .layout = LayoutRule::Agnostic);

}  // namespace ec::ops
