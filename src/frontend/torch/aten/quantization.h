// Quantised tensors in the IR: integers between quantize and dequantize with the file's parameters
// as operands.
#pragma once

#include <optional>

#include "frontend/torch/aten/call.h"

namespace ec::torch {

// The real numbers of a quantised tensor.
Result<ec::Tensor*> dequantized(const CallSite& site, const TensorRef& x);
// Integers of a type; the parameters stay with the reference. `axis` of per-channel ones counts.
Result<TensorRef> quantized(const CallSite& site, ec::Tensor* x,
                            std::shared_ptr<const QuantParams> quant, DType dtype);
QuantParams per_tensor(double scale, int64_t zero_point);

// Parameters that are tensors with known elements; one pair per tensor, or per index of an axis.
Result<QuantParams> known_parameters(Call& c, ec::Tensor* scale, ec::Tensor* zero_point,
                                     std::optional<int64_t> axis);

// The smallest integer type that holds a range of steps.
Result<DType> step_type(Call& c, int64_t low, int64_t high);
// Real numbers that reach only the steps [low, high] of a wider type: x clipped where that is
// needed.
Result<ec::Tensor*> limited(Call& c, ec::Tensor* x, const QuantParams& quant, DType dtype,
                            int64_t low, int64_t high);

}  // namespace ec::torch
