#include "runtime/prepare/prepare.h"

#include <limits>

#include "ops/value.h"

namespace ec {

int64_t OperandInfo::count() const { return count_elements(shape); }

namespace prepare {

kernels::Epilogue epilogue_of(Activation activation, float alpha, float beta) {
  using kernels::UnaryOp;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  switch (activation) {
    case Activation::None:
      return {};
    case Activation::Relu:
      return {UnaryOp::Clamp, 0.0F, kInf};
    case Activation::Relu6:
      return {UnaryOp::Clamp, 0.0F, 6.0F};
    case Activation::Clip:
      return {UnaryOp::Clamp, alpha, beta};
    case Activation::LeakyRelu:
      return {UnaryOp::LeakyRelu, alpha, 0.0F};
    case Activation::Sigmoid:
      return {UnaryOp::Sigmoid, 0.0F, 0.0F};
    case Activation::Tanh:
      return {UnaryOp::Tanh, 0.0F, 0.0F};
    case Activation::Silu:
      return {UnaryOp::Silu, 0.0F, 0.0F};
    case Activation::HardSwish:
      return {UnaryOp::HardSwish, 0.0F, 0.0F};
    case Activation::HardSigmoid:
      return {UnaryOp::HardSigmoid, alpha, beta};
    case Activation::Gelu:
      return {UnaryOp::Gelu, 0.0F, 0.0F};
    case Activation::GeluTanh:
      return {UnaryOp::GeluTanh, 0.0F, 0.0F};
  }
  return {};
}

std::optional<std::vector<int64_t>> constant_ints(const OpInstance& op, size_t i) {
  if (!op.has(i) || op.input(i).constant == nullptr) return std::nullopt;
  const OperandInfo& info = op.input(i);
  std::vector<int64_t> out;
  for (int64_t k = 0; k < info.count(); ++k) {
    if (info.dtype == DType::I64) {
      out.push_back(reinterpret_cast<const int64_t*>(info.constant)[k]);
    } else if (info.dtype == DType::I32) {
      out.push_back(reinterpret_cast<const int32_t*>(info.constant)[k]);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace prepare
}  // namespace ec
