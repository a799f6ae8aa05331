// Steps that operators with activations quantised at run time share.
#pragma once

#include "frontend/torch/aten/table.h"

namespace ec::torch {

// The nearest of 2^7 (reduced) or 2^8 steps over the range of x, widened to hold 0.
Result<ec::Tensor*> nearest_steps(Call& c, ec::Tensor* x, bool reduce_range);
// x w^T + bias with the real numbers of quantised weights.
Result<ec::Tensor*> multiply_packed(Call& c, ec::Tensor* x, const PackedLinear& weights);

extern const std::span<const OperatorRow> kQuantizedRecurrentRows;

}  // namespace ec::torch
