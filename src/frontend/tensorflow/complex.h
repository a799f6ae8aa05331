// Complex numbers: pairs along a last dimension (ADR 14).
#pragma once

#include "frontend/complex_product.h"
#include "frontend/tensorflow/op_context.h"

namespace ec::tf {

// One part of complex numbers.
Result<ec::Tensor*> complex_part(OpContext& ctx, ec::Tensor* x, ComplexPart part);
Result<ec::Tensor*> complex_number(OpContext& ctx, ec::Tensor* real, ec::Tensor* imaginary);
// The product of inputs 0 and 1, of which one may be real.
Status complex_mul(OpContext& ctx);

}  // namespace ec::tf
