// Which operations have fast kernels, and helpers of the families.
#include <limits>

#include "ops/kernel.h"
#include "ops/value.h"
#include "runtime/prepare/prepare.h"

namespace ec {

int64_t OperandInfo::count() const { return count_elements(shape); }

namespace {

using PrepareFn = prepare::Prepared (*)(const OpInstance&, const PrepareContext&);

PrepareFn find_prepare(OpKind kind) {
  switch (kind) {
    case OpKind::Conv:
      return prepare::conv;
    case OpKind::ConvTranspose:
      return prepare::conv_transpose;
    case OpKind::MatMul:
      return prepare::matmul;
    case OpKind::Gemm:
      return prepare::gemm;
    case OpKind::Einsum:
      return prepare::einsum;
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      return prepare::pool;
    case OpKind::GlobalAvgPool:
    case OpKind::GlobalMaxPool:
      return prepare::global_pool;
    case OpKind::Relu:
    case OpKind::Clip:
    case OpKind::LeakyRelu:
    case OpKind::Elu:
    case OpKind::HardSigmoid:
    case OpKind::HardSwish:
    case OpKind::Sigmoid:
    case OpKind::Silu:
    case OpKind::Tanh:
    case OpKind::Exp:
    case OpKind::Log:
    case OpKind::Erf:
    case OpKind::Gelu:
    case OpKind::Softplus:
    case OpKind::Mish:
    case OpKind::Sqrt:
    case OpKind::Rsqrt:
    case OpKind::Reciprocal:
    case OpKind::Neg:
    case OpKind::Abs:
    case OpKind::Floor:
    case OpKind::Ceil:
      return prepare::unary;
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Min:
    case OpKind::Max:
    case OpKind::Pow:
      return prepare::binary;
    case OpKind::Softmax:
    case OpKind::LogSoftmax:
      return prepare::softmax;
    case OpKind::LayerNorm:
    case OpKind::RmsNorm:
      return prepare::norm;
    case OpKind::InstanceNorm:
    case OpKind::GroupNorm:
      return prepare::group_norm;
    case OpKind::Resize:
      return prepare::resize;
    case OpKind::Attention:
      return prepare::attention;
    case OpKind::Lstm:
    case OpKind::Gru:
      return prepare::recurrent;
    case OpKind::DepthToSpace:
      return prepare::depth_to_space;
    case OpKind::SpaceToDepth:
      return prepare::space_to_depth;
    case OpKind::BatchNorm:
      return prepare::batch_norm;
    case OpKind::ReduceSum:
    case OpKind::ReduceMean:
    case OpKind::ReduceMax:
      return prepare::reduce;
    case OpKind::Transpose:
      return prepare::transpose;
    case OpKind::Concat:
      return prepare::concat;
    case OpKind::Split:
      return prepare::split;
    case OpKind::Slice:
      return prepare::slice;
    case OpKind::Pad:
      return prepare::pad;
    case OpKind::Gather:
      return prepare::gather;
    case OpKind::Quantize:
      return prepare::quantize;
    case OpKind::Dequantize:
      return prepare::dequantize;
    default:
      return nullptr;
  }
}

PrepareFn find_integer_prepare(OpKind kind) {
  switch (kind) {
    case OpKind::Conv:
      return prepare::integer_conv;
    case OpKind::Gemm:
      return prepare::integer_gemm;
    case OpKind::Add:
      return prepare::integer_add;
    case OpKind::Sub:
      return prepare::integer_sub;
    case OpKind::Mul:
      return prepare::integer_mul;
    case OpKind::Quantize:
      return prepare::quantize;
    case OpKind::Dequantize:
      return prepare::dequantize;
    default:
      return nullptr;
  }
}

bool is_empty(const OpInstance& op) {
  for (const OperandInfo& info : op.inputs)
    if (info.present && info.count() == 0) return true;
  for (const OperandInfo& info : op.outputs)
    if (info.count() == 0) return true;
  return false;
}

}  // namespace

bool has_fast_kernel(OpKind kind) { return find_prepare(kind) != nullptr; }

std::unique_ptr<PreparedOp> prepare_op(const OpInstance& instance, const PrepareContext& context) {
  // The plain fast kernels compute on elements as they are, which is not what a quantised operation
  // means.
  const bool integer = kernel_of(instance.op) != instance.op.def().reference;
  const OpKind kind = instance.op.kind();
  const PrepareFn fn = integer ? find_integer_prepare(kind) : find_prepare(kind);
  // The fast kernels need not care about tensors without elements.
  if (is_empty(instance)) return nullptr;
  prepare::Prepared prepared = fn != nullptr ? fn(instance, context) : nullptr;
  if (prepared == nullptr && integer && instance.op.def().traits.elementwise)
    prepared = prepare::integer_function(instance, context);
  return prepared;
}

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
