// The constant bounds of a clip.
#pragma once

#include <cmath>

#include "ir/graph.h"

namespace ec::quantize {

// Operand 1 (low) or 2 (high): `otherwise` where there is none, not-a-number where it is no
// constant.
inline float clip_bound(const Operation& op, size_t operand, float otherwise) {
  const Tensor* tensor = op.input(operand);
  if (tensor == nullptr) return otherwise;
  const bool known =
      tensor->is_constant() && tensor->dtype() == DType::F32 && tensor->type().num_elements() == 1;
  return known ? tensor->values<float>()[0] : std::nanf("");
}

inline constexpr float kRelu6Bound = 6.0f;

// Of a clip: between 0 and 6.
inline bool has_relu6_bounds(const Operation& op) {
  return clip_bound(op, 1, -INFINITY) == 0.0f && clip_bound(op, 2, INFINITY) == kRelu6Bound;
}

}  // namespace ec::quantize
