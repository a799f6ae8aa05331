// Conversions between types and between real values and stored integers.
#include "frontend/tflite/complex.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

Status cast(OpContext& ctx) {
  CastAttrs attrs;
  EC_TRY(attrs.to, ctx.out_dtype());
  ec::Tensor* x = ctx.in(0);
  // Real numbers become the real part; of complex ones only that part stays.
  if (ctx.is_complex_input() && !ctx.is_complex_output()) {
    EC_TRY(x, complex_part(ctx, x, ComplexPart::Real));
  } else if (!ctx.is_complex_input() && ctx.is_complex_output()) {
    EC_TRY(x, ctx.cast(x, attrs.to));
    EC_TRY(x, ctx.unsqueeze(x, std::vector<int64_t>{-1}));
    EC_TRY(x, ctx.add(OpKind::Pad, {x, ctx.ints({0, 1}), nullptr, ctx.ints({-1})}, PadAttrs{}));
  }
  return ctx.finish(OpKind::Cast, {x}, attrs);
}

// Half-precision weights are stored with a DEQUANTIZE behind them.
Status dequantize(OpContext& ctx) {
  if (is_float(ctx.dtype())) return cast(ctx);
  const auto& quant = ctx.in(0)->type().quant;
  if (!quant) return ctx.fail(Code::BadQuantParams, "the input has no quantisation parameters");
  return ctx.finish(OpKind::Dequantize, {ctx.in(0)}, DequantizeAttrs{});
}

Status quantize(OpContext& ctx) {
  QuantizeAttrs attrs;
  EC_TRY(attrs.dtype, ctx.out_dtype());
  if (!ctx.out_quant())
    return ctx.fail(Code::BadQuantParams, "the result has no quantisation parameters");
  attrs.rounding = Rounding::HalfAway;
  // The parameters are the result's, so it has them before the op is inferred.
  return ctx.finish(OpKind::Quantize, {ctx.in(0)}, attrs);
}

Status fake_quant(OpContext& ctx) {
  const auto& options = ctx.options<FakeQuantOptions>();
  FakeQuantAttrs attrs;
  attrs.min = options.min();
  attrs.max = options.max();
  attrs.num_bits = options.num_bits();
  attrs.narrow_range = options.narrow_range();
  return ctx.finish(OpKind::FakeQuant, {ctx.in(0)}, attrs);
}

// Sparse constants are dense already.
Status densify(OpContext& ctx) { return ctx.set(0, ctx.in(0)); }

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {BuiltinOperator::CAST, k1, k1, cast, false, true},
    {BuiltinOperator::DEQUANTIZE, k1, k1, dequantize},
    {BuiltinOperator::QUANTIZE, k1, k1, quantize},
    {BuiltinOperator::FAKE_QUANT, k1, k1, fake_quant},
    {BuiltinOperator::DENSIFY, k1, k1, densify},
};

}  // namespace

const std::span<const OpRow> kQuantizeRows = kRows;

}  // namespace ec::tflite
