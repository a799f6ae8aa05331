#include "frontend/torch/aten/dynamic_quantization.h"

#include "frontend/torch/aten/linear.h"
#include "frontend/torch/aten/quantization.h"

namespace ec::torch {

Result<ec::Tensor*> multiply_packed(Call& c, ec::Tensor* x, const PackedLinear& weights) {
  EC_TRY(ec::Tensor * weight, dequantized(c.site(), weights.weight));
  return linear(c, x, weight, weights.bias);
}

Result<ec::Tensor*> nearest_steps(Call& c, ec::Tensor* x, bool reduce_range) {
  if (!reduce_range) {
    EC_TRY(const Tensors q, c.add_many(OpKind::DynamicQuantize, {x}, {}, 3));
    return c.add(OpKind::Dequantize, {q[0], q[1], q[2]}, DequantizeAttrs{});
  }
  EC_TRY(const std::vector<TorchValue> chosen,
         c.ops("quantized_decomposed::choose_qparams.tensor",
               {x, 0, 127, 0x1p-126, scalar_type_of(DType::U8)}));
  ec::Tensor* scale = chosen[0].tensor();
  EC_TRY(ec::Tensor * zero, c.cast(chosen[1].tensor(), DType::U8));
  QuantizeAttrs attrs;
  attrs.dtype = DType::U8;
  EC_TRY(ec::Tensor * q, c.add(OpKind::Quantize, {x, scale, zero}, attrs));
  EC_TRY(q, c.add(OpKind::Min, {q, c.scalar(DType::U8, 127)}));
  return c.add(OpKind::Dequantize, {q, scale, zero}, DequantizeAttrs{});
}

}  // namespace ec::torch
