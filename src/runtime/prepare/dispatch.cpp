// Which operations have fast kernels.
#include <algorithm>

#include "ops/kernel.h"
#include "runtime/prepare/prepare.h"

namespace ec {
namespace {

using PrepareFn = prepare::Prepared (*)(const OpInstance&, const PrepareContext&);

struct FastKernel {
  OpKind kind;
  PrepareFn plain;      // computes on the elements as they are
  PrepareFn quantized;  // where tensors carry scales and zero points; null: see prepare_op()
};

constexpr FastKernel kKernels[] = {
    {OpKind::Conv, prepare::conv, prepare::integer_conv},
    {OpKind::ConvTranspose, prepare::conv_transpose, nullptr},
    {OpKind::Gemm, prepare::gemm, prepare::integer_gemm},
    {OpKind::MatMul, prepare::matmul, nullptr},
    {OpKind::Einsum, prepare::einsum, nullptr},
    {OpKind::Attention, prepare::attention, nullptr},
    {OpKind::Lstm, prepare::recurrent, nullptr},
    {OpKind::Gru, prepare::recurrent, nullptr},

    {OpKind::Add, prepare::binary, prepare::integer_add},
    {OpKind::Sub, prepare::binary, prepare::integer_sub},
    {OpKind::Mul, prepare::binary, prepare::integer_mul},
    {OpKind::Div, prepare::binary, nullptr},
    {OpKind::Pow, prepare::binary, nullptr},
    {OpKind::Min, prepare::binary, nullptr},
    {OpKind::Max, prepare::binary, nullptr},

    {OpKind::Abs, prepare::unary, nullptr},
    {OpKind::Neg, prepare::unary, nullptr},
    {OpKind::Floor, prepare::unary, nullptr},
    {OpKind::Ceil, prepare::unary, nullptr},
    {OpKind::Sqrt, prepare::unary, nullptr},
    {OpKind::Rsqrt, prepare::unary, nullptr},
    {OpKind::Reciprocal, prepare::unary, nullptr},
    {OpKind::Exp, prepare::unary, nullptr},
    {OpKind::Log, prepare::unary, nullptr},
    {OpKind::Erf, prepare::unary, nullptr},

    {OpKind::Relu, prepare::unary, nullptr},
    {OpKind::Clip, prepare::unary, nullptr},
    {OpKind::LeakyRelu, prepare::unary, nullptr},
    {OpKind::Elu, prepare::unary, nullptr},
    {OpKind::HardSigmoid, prepare::unary, nullptr},
    {OpKind::HardSwish, prepare::unary, nullptr},
    {OpKind::Sigmoid, prepare::unary, nullptr},
    {OpKind::Tanh, prepare::unary, nullptr},
    {OpKind::Silu, prepare::unary, nullptr},
    {OpKind::Gelu, prepare::unary, nullptr},
    {OpKind::Mish, prepare::unary, nullptr},
    {OpKind::Softplus, prepare::unary, nullptr},

    {OpKind::Softmax, prepare::softmax, nullptr},
    {OpKind::LogSoftmax, prepare::softmax, nullptr},
    {OpKind::BatchNorm, prepare::batch_norm, nullptr},
    {OpKind::LayerNorm, prepare::norm, nullptr},
    {OpKind::RmsNorm, prepare::norm, nullptr},
    {OpKind::InstanceNorm, prepare::group_norm, nullptr},
    {OpKind::GroupNorm, prepare::group_norm, nullptr},

    {OpKind::MaxPool, prepare::pool, nullptr},
    {OpKind::AvgPool, prepare::pool, nullptr},
    {OpKind::GlobalAvgPool, prepare::global_pool, nullptr},
    {OpKind::GlobalMaxPool, prepare::global_pool, nullptr},
    {OpKind::ReduceSum, prepare::reduce, nullptr},
    {OpKind::ReduceMean, prepare::reduce, nullptr},
    {OpKind::ReduceMax, prepare::reduce, nullptr},
    {OpKind::Resize, prepare::resize, nullptr},

    {OpKind::Transpose, prepare::transpose, nullptr},
    {OpKind::Concat, prepare::concat, nullptr},
    {OpKind::Split, prepare::split, nullptr},
    {OpKind::Slice, prepare::slice, nullptr},
    {OpKind::Pad, prepare::pad, nullptr},
    {OpKind::Gather, prepare::gather, nullptr},
    {OpKind::DepthToSpace, prepare::depth_to_space, nullptr},
    {OpKind::SpaceToDepth, prepare::space_to_depth, nullptr},

    {OpKind::Quantize, prepare::quantize, prepare::quantize},
    {OpKind::Dequantize, prepare::dequantize, prepare::dequantize},
};

const FastKernel* find_kernel(OpKind kind) {
  const auto found = std::ranges::find(kKernels, kind, &FastKernel::kind);
  return found == std::end(kKernels) ? nullptr : found;
}

prepare::Prepared prepare_quantized(const FastKernel* kernel, const OpInstance& instance,
                                    const PrepareContext& context) {
  if (kernel != nullptr && kernel->quantized != nullptr)
    if (prepare::Prepared prepared = kernel->quantized(instance, context)) return prepared;
  // Functions of one small integer are tables.
  if (instance.op.def().traits.elementwise) return prepare::integer_function(instance, context);
  return nullptr;
}

bool is_empty(const OpInstance& op) {
  for (const OperandInfo& info : op.inputs)
    if (info.present && info.count() == 0) return true;
  for (const OperandInfo& info : op.outputs)
    if (info.count() == 0) return true;
  return false;
}

}  // namespace

bool has_fast_kernel(OpKind kind) { return find_kernel(kind) != nullptr; }

std::unique_ptr<PreparedOp> prepare_op(const OpInstance& instance, const PrepareContext& context) {
  // The fast kernels need not care about tensors without elements.
  if (is_empty(instance)) return nullptr;
  const FastKernel* kernel = find_kernel(instance.op.kind());
  // Plain kernels compute on elements as they are, which is not what a quantised operation means.
  const bool quantized = kernel_of(instance.op) != instance.op.def().reference;
  if (quantized) return prepare_quantized(kernel, instance, context);
  return kernel != nullptr ? kernel->plain(instance, context) : nullptr;
}

}  // namespace ec
