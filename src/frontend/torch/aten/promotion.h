// PyTorch's type promotion: tensors with dimensions count more than 0-d tensors, those more than
// Python numbers, unless the weaker one is of a higher category (bool, integer, float).
#pragma once

#include <span>

#include "frontend/torch/value.h"

namespace ec::torch {

// The common type of two element types of equal rank in the promotion rules.
DType promote(DType a, DType b);
DType result_type(std::span<const TensorRef> operands);
// Integers and bool become the default floating-point type.
DType to_float_type(DType dtype);

}  // namespace ec::torch
