// Convolutions on tensors, for the float and the quantised operators. The input may lack the batch
// dimension.
#pragma once

#include "frontend/torch/aten/call.h"

namespace ec::torch {

Result<ec::Tensor*> convolve(Call& c, ec::Tensor* x, ec::Tensor* weight, ec::Tensor* bias,
                             const ConvAttrs& attrs);
Result<ec::Tensor*> convolve_transposed(Call& c, ec::Tensor* x, ec::Tensor* weight,
                                        ec::Tensor* bias, const ConvTransposeAttrs& attrs);

}  // namespace ec::torch
