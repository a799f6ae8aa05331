#include "ops/clamp.h"

#include <cmath>

namespace ec {

float clip_bound(const Operation& op, size_t operand, float otherwise) {
  const Tensor* tensor = op.input(operand);
  if (tensor == nullptr) return otherwise;
  const bool known =
      tensor->is_constant() && tensor->dtype() == DType::F32 && tensor->type().num_elements() == 1;
  return known ? tensor->values<float>()[0] : std::nanf("");
}

bool has_relu6_bounds(const Operation& op) {
  return clip_bound(op, 1, -INFINITY) == 0.0f && clip_bound(op, 2, INFINITY) == kRelu6Bound;
}

std::optional<FusedClamp> fused_clamp(Activation activation, float alpha, float beta) {
  switch (activation) {
    case Activation::None:
      return FusedClamp::None;
    case Activation::Relu:
      return FusedClamp::Relu;
    case Activation::Relu6:
      return FusedClamp::Relu6;
    case Activation::Clip:
      if (alpha == 0.0f && beta == kRelu6Bound) return FusedClamp::Relu6;
      if (alpha == -1.0f && beta == 1.0f) return FusedClamp::ReluN1To1;
      if (alpha == 0.0f && beta == INFINITY) return FusedClamp::Relu;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace ec
