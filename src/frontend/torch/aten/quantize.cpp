// Quantised tensors: making them, reading them, and the explicit form of torch.export
// (quantized_decomposed).
#include "frontend/torch/aten/quantization.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

std::optional<int64_t> no_axis() { return std::nullopt; }

// --- quantised tensors ---------------------------------------------------------------------------

Result<TorchValue> quantize(Call& c, QuantParams quant) {
  EC_TRY(TensorRef y,
         quantized(c.site(), c.tensor("self"), std::make_shared<QuantParams>(std::move(quant)),
                   c.dtype("dtype", DType::U8)));
  return TorchValue(std::move(y));
}

Result<TorchValue> quantize_per_tensor(Call& c) {
  return quantize(c, per_tensor(c.number("scale"), c.integer("zero_point")));
}

Result<TorchValue> quantize_per_channel(Call& c) {
  EC_TRY(QuantParams quant, known_parameters(c, c.tensor("scales"), c.tensor("zero_points"),
                                             c.dim("axis", c.rank(c.tensor("self")))));
  return quantize(c, std::move(quant));
}

Result<ec::Tensor*> dequantize(Call& c) {
  return dequantized(c.site(), c.ref(c.schema().args.front().name));
}

Result<TorchValue> dequantize_list(Call& c) {
  std::vector<TorchValue> reals;
  for (const TorchValue& item : c.items("tensors")) {
    EC_TRY(const TensorRef ref, as_tensor(c.site(), item));
    EC_TRY(ec::Tensor * real, dequantized(c.site(), ref));
    reals.emplace_back(real);
  }
  return TorchValue::list(std::move(reals));
}

Result<TorchValue> q_scale(Call& c) {
  const TensorRef x = c.ref("self");
  if (!x.quant || x.quant->per_channel()) return c.fail(Code::TypeMismatch, "no scale");
  return TorchValue(static_cast<double>(x.quant->scales.front()));
}

Result<TorchValue> q_zero_point(Call& c) {
  const TensorRef x = c.ref("self");
  if (!x.quant || x.quant->per_channel()) return c.fail(Code::TypeMismatch, "no zero point");
  return TorchValue(int64_t{x.quant->zero_points.front()});
}

Result<ec::Tensor*> int_repr(Call& c) { return c.tensor("self"); }

// --- quantized_decomposed: integers are plain tensors, parameters are arguments ------------------

Result<ec::Tensor*> explicit_quantize(Call& c, const QuantParams& quant) {
  const DType dtype = c.dtype("dtype", DType::I8);
  EC_TRY(ec::Tensor * x, limited(c, c.tensor("input"), quant, dtype, c.integer("quant_min"),
                                 c.integer("quant_max")));
  EC_TRY(const TensorRef y, quantized(c.site(), x, std::make_shared<QuantParams>(quant), dtype));
  return y.tensor;
}

Result<ec::Tensor*> explicit_dequantize(Call& c, QuantParams quant) {
  return dequantized(
      c.site(),
      TensorRef{c.tensor("input"), false, std::make_shared<QuantParams>(std::move(quant)), {}});
}

QuantParams scalar_parameters(Call& c) {
  return per_tensor(c.number("scale"), c.integer("zero_point"));
}

Result<ec::Tensor*> quantize_scalar(Call& c) { return explicit_quantize(c, scalar_parameters(c)); }
Result<ec::Tensor*> dequantize_scalar(Call& c) {
  return explicit_dequantize(c, scalar_parameters(c));
}

// Parameters of run time: operands of the op.
Result<Tensors> run_time_parameters(Call& c, DType dtype) {
  EC_TRY(ec::Tensor * scale, c.reshape(c.tensor("scale"), Ints{}));
  EC_TRY(scale, c.cast(scale, DType::F32));
  EC_TRY(ec::Tensor * zero, c.reshape(c.tensor("zero_point"), Ints{}));
  EC_TRY(zero, c.cast(zero, dtype));
  return Tensors{scale, zero};
}

Result<ec::Tensor*> quantize_tensor(Call& c) {
  ec::Tensor* scale = c.tensor("scale");
  ec::Tensor* zero = c.tensor("zero_point");
  if (scale->is_constant() && zero->is_constant()) {
    EC_TRY(const QuantParams quant, known_parameters(c, scale, zero, no_axis()));
    return explicit_quantize(c, quant);
  }
  QuantizeAttrs attrs;
  attrs.dtype = c.dtype("dtype", DType::I8);
  EC_TRY(const Tensors parameters, run_time_parameters(c, attrs.dtype));
  return c.add(OpKind::Quantize, {c.tensor("input"), parameters[0], parameters[1]}, attrs);
}

Result<ec::Tensor*> dequantize_tensor(Call& c) {
  ec::Tensor* x = c.tensor("input");
  ec::Tensor* scale = c.tensor("scale");
  ec::Tensor* zero = c.tensor("zero_point");
  if (scale->is_constant() && zero->is_constant()) {
    EC_TRY(QuantParams quant, known_parameters(c, scale, zero, no_axis()));
    return explicit_dequantize(c, std::move(quant));
  }
  EC_TRY(const Tensors parameters, run_time_parameters(c, x->dtype()));
  return c.add(OpKind::Dequantize, {x, parameters[0], parameters[1]}, DequantizeAttrs{});
}

Result<ec::Tensor*> quantize_channels(Call& c) {
  EC_TRY(const QuantParams quant, known_parameters(c, c.tensor("scales"), c.tensor("zero_points"),
                                                   c.dim("axis", c.rank(c.tensor("input")))));
  return explicit_quantize(c, quant);
}

// Embeddings have zero points that are no integers: then the formula is written out.
Result<ec::Tensor*> dequantize_channels(Call& c) {
  ec::Tensor* x = c.tensor("input");
  const int64_t axis = c.dim("axis", c.rank(x));
  ec::Tensor* zeros = c.tensor("zero_points");
  if (zeros == nullptr) return c.unsupported("dequantisation without zero points");
  if (!is_float(zeros->dtype())) {
    EC_TRY(QuantParams quant, known_parameters(c, c.tensor("scales"), zeros, axis));
    return explicit_dequantize(c, std::move(quant));
  }
  Ints shape(static_cast<size_t>(std::max<int64_t>(c.rank(x), 1)), 1);
  shape[static_cast<size_t>(axis)] = -1;
  EC_TRY(ec::Tensor * zero, c.reshape(zeros, shape));
  EC_TRY(ec::Tensor * scale, c.reshape(c.tensor("scales"), shape));
  EC_TRY(x, c.cast(x, DType::F32));
  EC_TRY(x, c.add(OpKind::Sub, {x, zero}));
  return c.add(OpKind::Mul, {x, scale});
}

// Scale and zero point of a tensor's own range, widened to hold 0.
Result<std::vector<TorchValue>> choose_qparams(Call& c) {
  ec::Tensor* x = c.tensor("input");
  const auto low = static_cast<double>(c.integer("quant_min"));
  const auto high = static_cast<double>(c.integer("quant_max"));
  ReduceAttrs reduce;
  reduce.keep_dims = false;
  ec::Tensor* none = c.scalar(DType::F32, 0);
  EC_TRY(ec::Tensor * least, c.add(OpKind::ReduceMin, {x}, reduce));
  EC_TRY(least, c.add(OpKind::Min, {least, none}));
  EC_TRY(ec::Tensor * most, c.add(OpKind::ReduceMax, {x}, reduce));
  EC_TRY(most, c.add(OpKind::Max, {most, none}));
  EC_TRY(ec::Tensor * span, c.add(OpKind::Sub, {most, least}));
  EC_TRY(ec::Tensor * scale, c.add(OpKind::Div, {span, c.scalar(DType::F32, high - low)}));
  EC_TRY(scale, c.add(OpKind::Max, {scale, c.scalar(DType::F32, c.number("eps"))}));
  EC_TRY(ec::Tensor * steps, c.add(OpKind::Div, {least, scale}));
  EC_TRY(steps, c.add(OpKind::Round, {steps}));
  EC_TRY(ec::Tensor * zero, c.add(OpKind::Sub, {c.scalar(DType::F32, low), steps}));
  EC_TRY(zero, c.add(OpKind::Clip, {zero, c.scalar(DType::F32, low), c.scalar(DType::F32, high)}));
  EC_TRY(zero, c.cast(zero, DType::I64));
  return std::vector<TorchValue>{scale, zero};
}

#define EC_RANGE "int quant_min, int quant_max, ScalarType dtype"

constexpr OperatorRow kRows[] = {
    {"aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> "
     "Tensor",
     quantize_per_tensor, true},
    {"aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
     "ScalarType dtype) -> Tensor",
     quantize_per_tensor, true},
    {"aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
     "ScalarType dtype) -> Tensor",
     quantize_per_channel, true},
    {"aten::dequantize.self(Tensor self) -> Tensor", dequantize, true},
    {"aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]", dequantize_list, true},
    {"aten::q_scale(Tensor self) -> float", q_scale, true},
    {"aten::q_zero_point(Tensor self) -> int", q_zero_point, true},
    {"aten::int_repr(Tensor self) -> Tensor", int_repr, true},
    {"quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int "
     "zero_point, " EC_RANGE ") -> Tensor",
     quantize_scalar},
    {"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, "
     "Tensor zero_point, " EC_RANGE ") -> Tensor",
     quantize_tensor},
    {"quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int "
     "zero_point, " EC_RANGE ", *, ScalarType? out_dtype=None) -> Tensor",
     dequantize_scalar},
    {"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, "
     "Tensor zero_point, " EC_RANGE ", *, ScalarType? out_dtype=None) -> Tensor",
     dequantize_tensor},
    {"quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, "
     "Tensor zero_points, int axis, " EC_RANGE ") -> Tensor",
     quantize_channels},
    {"quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, "
     "Tensor? zero_points, int axis, " EC_RANGE ", *, ScalarType? out_dtype=None) -> Tensor",
     dequantize_channels},
    {"quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, "
     "float eps, ScalarType dtype) -> (Tensor, Tensor)",
     choose_qparams},
};

}  // namespace

const std::span<const OperatorRow> kQuantizeRows = kRows;

}  // namespace ec::torch
