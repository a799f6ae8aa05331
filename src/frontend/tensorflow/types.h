// Types of TensorFlow tensors as types of the IR.
#pragma once

#include <optional>
#include <string>

#include "formats/tensorflow/model.h"
#include "ir/type.h"

namespace ec::tf {

// The element type; of complex numbers the type of their parts. Empty: string, resource, variant.
std::optional<DType> to_dtype(DataType type);
// Complex numbers are pairs (real, imaginary) along one more dimension, the last (ADR 14).
inline bool is_complex(DataType type) {
  return type == DataType::Complex64 || type == DataType::Complex128;
}
// Open sizes are unknown.
std::optional<Shape> to_shape(const PartialShape& shape);

}  // namespace ec::tf
