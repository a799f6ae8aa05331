// Conversion between element types: by value (cast) and by bits (bit_cast).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ops/elementwise.h"
#include "ops/shape_values.h"

namespace ec::ops {
namespace {

enum class ScaleRounding { Up, Down, Nearest };

// ONNX Cast to f8e8m0: the float's exponent, rounded by its fraction. NaN and infinity give NaN.
uint8_t to_e8m0(float value, ScaleRounding rounding, bool saturate) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = (bits >> 23) & 0xffu, fraction = bits & 0x7fffffu;
  if (exponent == 0xff) return 0xff;
  bool up = false;
  if (rounding == ScaleRounding::Up) up = fraction != 0;
  // Ties go up, except for subnormals, whose tie is below the smallest scale.
  if (rounding == ScaleRounding::Nearest)
    up = fraction > 0x400000u || (fraction == 0x400000u && exponent > 0);
  if (up && saturate && exponent == 0xfe) up = false;
  return static_cast<uint8_t>(exponent + (up ? 1 : 0));
}

void cast_to_e8m0(const ConstView& x, const MutableView& y, const CastAttrs& attrs) {
  const Reader<float> in(x);
  const auto out = y.as<uint8_t>();
  const ScaleRounding rounding = attrs.round_mode == "up"     ? ScaleRounding::Up
                                 : attrs.round_mode == "down" ? ScaleRounding::Down
                                                              : ScaleRounding::Nearest;
  for (size_t i = 0; i < out.size(); ++i) out[i] = to_e8m0(in[i], rounding, attrs.saturate);
}

Status cast(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  const auto& attrs = ctx.attrs<CastAttrs>();
  if (x.dtype == y.dtype) {
    if (const size_t bytes = x.bytes(); bytes > 0) std::memcpy(y.data, x.data, bytes);
    return {};
  }
  if (y.dtype == DType::F8E8M0) {
    cast_to_e8m0(x, y, attrs);
    return {};
  }
  if (small_float_format(y.dtype) != nullptr && !attrs.saturate) {
    store_unsaturated(y, Reader<float>(x).values());
    return {};
  }
  // Piece by piece: the numbers in between take up to eight times the operand.
  constexpr int64_t kPiece = 1 << 14;
  const int64_t count = x.count();
  with_compute_type(x.dtype, [&](auto c) {
    for (int64_t begin = 0; begin < count; begin += kPiece) {
      const int64_t size = std::min(kPiece, count - begin);
      const auto at = static_cast<size_t>(begin);
      const std::span<const int64_t> shape(&size, 1);
      const Reader<decltype(c)> in({x.dtype, shape, x.data + at * element_size(x.dtype), x.quant});
      store<decltype(c)>({y.dtype, shape, y.data + at * element_size(y.dtype), y.quant},
                         in.values());
    }
  });
  return {};
}

Status infer_cast(InferContext& ctx) {
  const auto& attrs = ctx.attrs<CastAttrs>();
  if (attrs.round_mode != "up" && attrs.round_mode != "down" && attrs.round_mode != "nearest")
    return ctx.bad_value("round_mode '" + attrs.round_mode + "' is not up, down or nearest");
  ctx.set(0, attrs.to, ctx.shape(0));
  if (attrs.to == DType::Bool)
    propagate_unary(ctx, [](const ShapeElement& e) {
      return e.constant() ? Dim(*e.constant() != 0 ? 1 : 0) : Dim::unknown();
    });
  else
    propagate_unary(ctx, [](const ShapeElement& e) { return e.dim(); });
  return {};
}

Status infer_bit_cast(InferContext& ctx) {
  const DType to = ctx.attrs<BitCastAttrs>().to;
  // Other bytes than 0 and 1 are no truth values.
  if (to == DType::Bool && ctx.dtype(0) != DType::Bool)
    return ctx.bad_type("the bits of " + operand_text(ctx, 0) + " cannot be read as bool");
  if (bit_width(to) != bit_width(ctx.dtype(0)))
    return ctx.bad_type("the bits of " + operand_text(ctx, 0) + " cannot be read as " +
                        std::string(dtype_name(to)) + ": the widths differ");
  ctx.set(0, to, ctx.shape(0));
  return {};
}

// Sub-byte elements lie in whole bytes; signed ones extended, all others in the low bits.
Status bit_cast(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  if (const size_t bytes = x.bytes(); bytes > 0) std::memcpy(y.data, x.data, bytes);
  const int bits = bit_width(y.dtype);
  if (bits >= 8) return {};
  const bool extends = is_signed_integer(y.dtype);
  for (uint8_t& byte : y.as<uint8_t>()) {
    const unsigned low = byte & ((1u << bits) - 1u);
    const bool negative = extends && (low >> (bits - 1)) != 0;
    byte = static_cast<uint8_t>(negative ? low | (0xffu << bits) : low);
  }
  return {};
}

}  // namespace

EC_OP_DEF(Cast, .signature = "(x) -> y",
          .summary =
              "Converts elements by value: floats round to nearest even or truncate and "
              "saturate into integers, integers wrap.",
          .traits = {.elementwise = true}, .infer = infer_cast, .reference = cast,
          .layout = LayoutRule::Agnostic);
EC_OP_DEF(BitCast, .signature = "(x) -> y",
          .summary = "Reads the same bits as another element type of equal width.",
          .traits = {.elementwise = true}, .infer = infer_bit_cast, .reference = bit_cast,
          .layout = LayoutRule::Agnostic);

}  // namespace ec::ops
