// Element-wise arithmetic and comparisons of two quantised operands.
#include "ops/elementwise.h"
#include "ops/quantized/gemmlowp.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/params.h"

namespace ec::quantized {
namespace {

struct Operands {
  Params a, b, out;
  Range range{};
};

Result<Operands> operands_of(const KernelContext& ctx) {
  Operands o;
  EC_TRY(o.a, input_params(ctx, 0));
  EC_TRY(o.b, input_params(ctx, 1));
  EC_TRY(o.out, output_params(ctx));
  const DType dtype = ctx.output(0).dtype;
  if (ctx.input(0).dtype != dtype || ctx.input(1).dtype != dtype ||
      !with_stored_type(dtype, [](auto) {}))
    return unsupported_type(ctx, ctx.input(1).dtype);
  o.range = type_range(dtype);
  return o;
}

// y = f(a - za, b - zb) + zero point, clamped.
template <class F>
Status map_pairs(KernelContext& ctx, const Operands& o, F&& f) {
  EC_TRY(const BroadcastPlan plan, ops::plan_operands(ctx, 2));
  with_stored_type(ctx.output(0).dtype, [&](auto type) {
    using T = decltype(type);
    map_broadcast<T>(
        plan, ctx.input(0).as<T>().data(), ctx.input(1).as<T>().data(),
        ctx.output(0).as<T>().data(), [&](T a, T b) {
          const int32_t value = f(a - o.a.zero_point, b - o.b.zero_point);
          return static_cast<T>(o.range.clamp(static_cast<int64_t>(value) + o.out.zero_point));
        });
  });
  return {};
}

// Both operands on a common scale, twice the larger one, with `bits` fraction bits.
struct CommonScale {
  Multiplier a, b, out;
  int bits;
};
CommonScale common_scale(const Operands& o, int bits) {
  const double twice = 2 * std::max(o.a.scale, o.b.scale);
  return {quantize_multiplier(o.a.scale / twice), quantize_multiplier(o.b.scale / twice),
          quantize_multiplier(twice / (static_cast<double>(1 << bits) * o.out.scale)), bits};
}

int32_t wrapping_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
int32_t wrapping_mul(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

Status add_or_sub(KernelContext& ctx, int32_t sign) {
  EC_TRY(const Operands o, operands_of(ctx));
  const CommonScale s = common_scale(o, ctx.output(0).dtype == DType::I16 ? 15 : 20);
  return map_pairs(ctx, o, [s, sign](int32_t a, int32_t b) {
    const int32_t x = multiply(shift_left(a, s.bits), s.a);
    const int32_t y = multiply(shift_left(b, s.bits), s.b);
    return multiply(wrapping_add(x, sign * y), s.out);
  });
}

template <class F>
Status compare(KernelContext& ctx, F&& f) {
  EC_TRY(const Params pa, input_params(ctx, 0));
  EC_TRY(const Params pb, input_params(ctx, 1));
  const DType dtype = ctx.input(0).dtype;
  if (ctx.input(1).dtype != dtype) return unsupported_type(ctx, ctx.input(1).dtype);
  EC_TRY(const BroadcastPlan plan, ops::plan_operands(ctx, 2));
  const Multiplier ma = quantize_multiplier(pa.scale), mb = quantize_multiplier(pb.scale);
  uint8_t* out = ctx.output(0).as<uint8_t>().data();
  const bool known = with_stored_type(dtype, [&](auto type) {
    using T = decltype(type);
    map_broadcast<uint8_t>(plan, ctx.input(0).as<T>().data(), ctx.input(1).as<T>().data(), out,
                           [&](T a, T b) {
                             const int32_t x = multiply(shift_left(a - pa.zero_point, 8), ma);
                             const int32_t y = multiply(shift_left(b - pb.zero_point, 8), mb);
                             return static_cast<uint8_t>(f(x, y));
                           });
  });
  if (!known) return unsupported_type(ctx, dtype);
  return {};
}

// Operands and result must share their parameters; then the plain kernel is right.
Status need_equal_parameters(const KernelContext& ctx, std::initializer_list<size_t> operands) {
  EC_TRY(const Params out, output_params(ctx));
  for (const size_t i : operands) {
    EC_TRY(const Params in, input_params(ctx, i));
    if (!(in == out))
      return ctx
          .fail("operand " + std::to_string(i) +
                " has other quantisation parameters than the result")
          .hint("quantise both with the same scale and zero point");
  }
  return {};
}

}  // namespace

Status add(KernelContext& ctx) { return add_or_sub(ctx, 1); }
Status sub(KernelContext& ctx) { return add_or_sub(ctx, -1); }

Status mul(KernelContext& ctx) {
  EC_TRY(const Operands o, operands_of(ctx));
  // TFLite computes the factor in float.
  const float factor = static_cast<float>(o.a.scale) * static_cast<float>(o.b.scale) /
                       static_cast<float>(o.out.scale);
  const Multiplier m = quantize_multiplier(double{factor});
  return map_pairs(ctx, o, [m](int32_t a, int32_t b) { return multiply(wrapping_mul(a, b), m); });
}

Status div(KernelContext& ctx) {
  EC_TRY(const Operands o, operands_of(ctx));
  const float factor = static_cast<float>(o.a.scale) /
                       (static_cast<float>(o.b.scale) * static_cast<float>(o.out.scale));
  const Multiplier m = quantize_multiplier(double{factor});
  bool by_zero = false;
  EC_CHECK_OK(map_pairs(ctx, o, [&](int32_t a, int32_t b) {
    if (b == 0) by_zero = true;
    if (b < 0) {
      a = -a;
      b = -b;
    }
    if (b == 0) return 0;
    const Reciprocal inverse = reciprocal(b, 31);
    // Sign bits above the first significant one are room for the quotient.
    const int headroom = leading_zeros(static_cast<uint32_t>(a >= 0 ? a : ~a)) - 1;
    const int32_t quotient = doubling_high_mul(shift_left(a, headroom), inverse.value);
    return multiply(quotient, {m.value, m.shift - inverse.bits_over_unit - headroom});
  }));
  if (by_zero) return ctx.fail("division by zero");
  return {};
}

Status squared_difference(KernelContext& ctx) {
  EC_TRY(const Operands o, operands_of(ctx));
  if (ctx.output(0).dtype != DType::I8) return unsupported_type(ctx, ctx.output(0).dtype);
  constexpr int kBits = 7;
  const double twice = 2 * std::max(o.a.scale, o.b.scale);
  const Multiplier ma = quantize_multiplier(o.a.scale / twice),
                   mb = quantize_multiplier(o.b.scale / twice);
  const Multiplier out =
      quantize_multiplier((twice * twice) / (static_cast<double>(1 << (2 * kBits)) * o.out.scale));
  return map_pairs(ctx, o, [=](int32_t a, int32_t b) {
    const int32_t x = multiply(shift_left(a, kBits), ma), y = multiply(shift_left(b, kBits), mb);
    return multiply(wrapping_mul(x - y, x - y), out);
  });
}

Status equal(KernelContext& ctx) {
  return compare(ctx, [](int32_t a, int32_t b) { return a == b; });
}
// LiteRT orders 16-bit operands by their stored values, whatever their scales.
Status less(KernelContext& ctx) {
  if (ctx.input(0).dtype == DType::I16) return ctx.op().def().reference(ctx);
  return compare(ctx, [](int32_t a, int32_t b) { return a < b; });
}
Status less_or_equal(KernelContext& ctx) {
  if (ctx.input(0).dtype == DType::I16) return ctx.op().def().reference(ctx);
  return compare(ctx, [](int32_t a, int32_t b) { return a <= b; });
}
Status greater(KernelContext& ctx) {
  if (ctx.input(0).dtype == DType::I16) return ctx.op().def().reference(ctx);
  return compare(ctx, [](int32_t a, int32_t b) { return a > b; });
}
Status greater_or_equal(KernelContext& ctx) {
  if (ctx.input(0).dtype == DType::I16) return ctx.op().def().reference(ctx);
  return compare(ctx, [](int32_t a, int32_t b) { return a >= b; });
}

Status same_parameters(KernelContext& ctx) {
  EC_CHECK_OK(need_equal_parameters(ctx, {0}));
  return ctx.op().def().reference(ctx);
}

}  // namespace ec::quantized
