// Steps that the quantised operators of ai.onnx and com.microsoft share: they are read as
// dequantise, compute in float, quantise, which is what the other quantised form of a model says.
#pragma once

#include "frontend/onnx/node_context.h"

namespace ec::onnx {

// A quantised operand: inputs x, scale, zero point (may be null) of a node.
struct QuantizedInput {
  ec::Tensor* x;
  ec::Tensor* scale;
  ec::Tensor* zero_point;
};

// A scale or zero point of one element as a scalar: vectors mean one per channel.
Result<ec::Tensor*> per_tensor(NodeContext& ctx, ec::Tensor* parameter);
// scale * (x - zero_point); per channel along axis when the scale is a vector.
Result<ec::Tensor*> dequantize(NodeContext& ctx, const QuantizedInput& input, int64_t axis = 0);
// The quantised result as output 0 of the node; its type is the zero point's, or u8.
Status finish_quantized(NodeContext& ctx, ec::Tensor* real, ec::Tensor* scale,
                        ec::Tensor* zero_point);
// An int32 bias whose scale is the product of two others.
Result<ec::Tensor*> dequantize_bias(NodeContext& ctx, ec::Tensor* bias, ec::Tensor* scale_a,
                                    ec::Tensor* scale_b);
// A type that holds sums of `terms` products of 8-bit differences exactly; `wide` beyond f32.
DType exact_type(const std::optional<int64_t>& terms, DType wide);
// x - zero_point in the given type; zero_point may be null.
Result<ec::Tensor*> centred(NodeContext& ctx, ec::Tensor* x, ec::Tensor* zero_point, DType dtype);
// Zero points per row of a matrix have to broadcast along its columns.
Result<ec::Tensor*> as_column(NodeContext& ctx, ec::Tensor* zero_point);

}  // namespace ec::onnx
