// Activations of 8 bits: quantize and dequantize of iOS 17.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

int64_t quant_axis(OpCall& c, Tensor* x, Tensor* scale) {
  return c.rank(scale) == 0 ? 0 : c.axis_of(x, "axis", 0);
}

// Scales are single precision, whatever the operation computes in: integer targets take them over.
Tensors quantize(OpCall& c) {
  Tensor *x = c.in("input"), *scale = c.cast(c.in("scale"), DType::F32);
  QuantizeAttrs attrs;
  attrs.dtype = c.dtype("output_dtype", "int8");
  attrs.axis = quant_axis(c, x, scale);
  Tensors inputs = {x, scale};
  if (Tensor* zero_point = c.maybe("zero_point")) inputs.push_back(zero_point);
  return {c.add(OpKind::Quantize, std::move(inputs), attrs)};
}

Tensors dequantize(OpCall& c) {
  Tensor *x = c.in("input"), *scale = c.in("scale");
  DequantizeAttrs attrs;
  attrs.dtype = scale->dtype();
  attrs.axis = quant_axis(c, x, scale);
  Tensors inputs = {x, c.cast(scale, DType::F32)};
  if (Tensor* zero_point = c.maybe("zero_point")) inputs.push_back(zero_point);
  return {c.add(OpKind::Dequantize, std::move(inputs), attrs)};
}

constexpr OpRow kRows[] = {
    {"quantize", kIos17, "input scale zero_point? axis? output_dtype", quantize},
    {"dequantize", kIos17, "input scale zero_point? axis?", dequantize},
};

}  // namespace

const std::span<const OpRow> kQuantizeRows = kRows;

}  // namespace ec::mil
