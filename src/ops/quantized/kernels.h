// The integer kernels that op definitions name as `quantized`: equal to LiteRT's reference kernels
// (OpResolverType.BUILTIN_REF) on the stored integers.
#pragma once

#include "ops/kernel.h"

namespace ec::quantized {

Status quantize(KernelContext& ctx);
Status dequantize(KernelContext& ctx);

Status conv(KernelContext& ctx);
Status conv_transpose(KernelContext& ctx);
Status matmul(KernelContext& ctx);
Status gemm(KernelContext& ctx);

Status add(KernelContext& ctx);
Status sub(KernelContext& ctx);
Status mul(KernelContext& ctx);
Status div(KernelContext& ctx);
Status squared_difference(KernelContext& ctx);
Status equal(KernelContext& ctx);
Status less(KernelContext& ctx);
Status less_or_equal(KernelContext& ctx);
Status greater(KernelContext& ctx);
Status greater_or_equal(KernelContext& ctx);
// The plain kernel, where the first operand and the result share their parameters; else an error.
Status same_parameters(KernelContext& ctx);

Status sigmoid(KernelContext& ctx);
Status tanh(KernelContext& ctx);
Status exp(KernelContext& ctx);
Status log(KernelContext& ctx);
Status sqrt(KernelContext& ctx);
Status rsqrt(KernelContext& ctx);
Status abs(KernelContext& ctx);
Status elu(KernelContext& ctx);
Status gelu(KernelContext& ctx);
Status hard_swish(KernelContext& ctx);
Status leaky_relu(KernelContext& ctx);
Status prelu(KernelContext& ctx);
Status relu(KernelContext& ctx);
Status clip(KernelContext& ctx);

Status softmax(KernelContext& ctx);
Status softmax_i16(KernelContext& ctx);
Status log_softmax(KernelContext& ctx);
Status lp_norm(KernelContext& ctx);

Status reduce_sum(KernelContext& ctx);
Status reduce_mean(KernelContext& ctx);
Status reduce_prod(KernelContext& ctx);
Status avg_pool(KernelContext& ctx);
Status global_avg_pool(KernelContext& ctx);

Status lstm_sequence(KernelContext& ctx);
Status svdf(KernelContext& ctx);

Status concat(KernelContext& ctx);
Status resize(KernelContext& ctx);

}  // namespace ec::quantized
