// x w^T + bias, for the float and the quantised operators.
#pragma once

#include "frontend/torch/aten/call.h"

namespace ec::torch {

Result<ec::Tensor*> linear(Call& c, ec::Tensor* x, ec::Tensor* weight, ec::Tensor* bias);

}  // namespace ec::torch
