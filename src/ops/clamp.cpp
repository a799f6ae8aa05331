#include "ops/clamp.h"

#include <cmath>

#include "ops/convert.h"

namespace ec {

float clip_bound(const Operation& op, size_t operand, float otherwise) {
  const Tensor* tensor = op.input(operand);
  if (tensor == nullptr) return otherwise;
  float value = std::nanf("");
  if (tensor->is_constant() && tensor->type().num_elements() == 1)
    load<float>(ConstView{tensor->dtype(), {}, tensor->data().bytes().data()},
                std::span(&value, 1));
  return value;
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

std::optional<FusedClamp> fused_clamp(const Operation& op) {
  if (op.kind() == OpKind::Relu) return FusedClamp::Relu;
  if (op.kind() != OpKind::Clip) return std::nullopt;
  return fused_clamp(Activation::Clip, clip_bound(op, 1, -INFINITY), clip_bound(op, 2, INFINITY));
}

}  // namespace ec
