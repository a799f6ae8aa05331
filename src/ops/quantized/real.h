// Tensors as real numbers: quantised elements through their parameters, floats as they are.
#pragma once

#include <vector>

#include "ops/kernel.h"

namespace ec::ops {

// Operand i as floats: scale * (q - zero_point) where it carries parameters, per tensor or per
// index of their axis.
Result<std::vector<float>> real_values(const KernelContext& ctx, size_t i);

}  // namespace ec::ops
