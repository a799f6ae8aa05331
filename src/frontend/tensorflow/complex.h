// Complex numbers: pairs along a last dimension (ADR 14).
#pragma once

#include "frontend/tensorflow/op_context.h"

namespace ec::tf {

enum class ComplexPart : int64_t { Real = 0, Imaginary = 1 };

// One part of complex numbers.
Result<ec::Tensor*> complex_part(OpContext& ctx, ec::Tensor* x, ComplexPart part);
Result<ec::Tensor*> complex_number(OpContext& ctx, ec::Tensor* real, ec::Tensor* imaginary);
// The product of inputs 0 and 1, of which one may be real.
Status complex_mul(OpContext& ctx);

}  // namespace ec::tf
