// Complex numbers while operators are converted: pairs (real, imaginary) along the last dimension.
#pragma once

#include "frontend/complex_product.h"
#include "frontend/tflite/op_context.h"

namespace ec::tflite {

// [..., 2] to [...].
Result<ec::Tensor*> complex_part(OpContext& ctx, ec::Tensor* x, ComplexPart part);
// Two tensors [...] as one of [..., 2].
Result<ec::Tensor*> complex_number(OpContext& ctx, ec::Tensor* real, ec::Tensor* imaginary);
// The product of the operator's two inputs as its result.
Status complex_mul(OpContext& ctx);

}  // namespace ec::tflite
