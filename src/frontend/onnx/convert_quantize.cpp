// Quantisation: QDQ and the quantised operators.
#include "frontend/onnx/quantized.h"
#include "frontend/onnx/table.h"
#include "frontend/onnx/window.h"

namespace ec::onnx {

Result<ec::Tensor*> per_tensor(NodeContext& ctx, ec::Tensor* parameter) {
  if (parameter == nullptr || !parameter->shape() || parameter->shape()->rank() == 0 ||
      parameter->type().num_elements() != 1)
    return parameter;
  if (parameter->is_constant())
    return ctx.graph().add_constant(parameter->name(), TensorType(parameter->dtype(), Shape{}),
                                    parameter->raw_data());
  return ctx.reshape(parameter, {});
}

Result<ec::Tensor*> dequantize(NodeContext& ctx, const QuantizedInput& input, int64_t axis) {
  EC_TRY(ec::Tensor * scale, per_tensor(ctx, input.scale));
  EC_TRY(ec::Tensor * zero_point, per_tensor(ctx, input.zero_point));
  DequantizeAttrs attrs;
  attrs.axis = axis;
  attrs.dtype = input.scale->dtype();
  return ctx.add(OpKind::Dequantize, {input.x, scale, zero_point}, attrs);
}

Status finish_quantized(NodeContext& ctx, ec::Tensor* real, ec::Tensor* scale,
                        ec::Tensor* zero_point) {
  QuantizeAttrs attrs;
  attrs.axis = 0;
  attrs.dtype = zero_point != nullptr ? zero_point->dtype() : DType::U8;
  EC_TRY(scale, per_tensor(ctx, scale));
  EC_TRY(zero_point, per_tensor(ctx, zero_point));
  return ctx.finish(OpKind::Quantize, {real, scale, zero_point}, attrs);
}

Result<ec::Tensor*> dequantize_bias(NodeContext& ctx, ec::Tensor* bias, ec::Tensor* scale_a,
                                    ec::Tensor* scale_b) {
  EC_TRY(ec::Tensor * scale, ctx.add(OpKind::Mul, {scale_a, scale_b}));
  return dequantize(ctx, {bias, scale, nullptr}, 0);
}

DType exact_type(const std::optional<int64_t>& terms, DType wide) {
  constexpr int64_t kExactInFloat = (1 << 24) / (255 * 255);
  return terms && *terms <= kExactInFloat ? DType::F32 : wide;
}

Result<ec::Tensor*> centred(NodeContext& ctx, ec::Tensor* x, ec::Tensor* zero_point, DType dtype) {
  EC_TRY(x, ctx.cast(x, dtype));
  if (zero_point == nullptr) return x;
  EC_TRY(zero_point, ctx.cast(zero_point, dtype));
  return ctx.add(OpKind::Sub, {x, zero_point});
}

Result<ec::Tensor*> as_column(NodeContext& ctx, ec::Tensor* zero_point) {
  if (zero_point == nullptr || !zero_point->shape() || zero_point->shape()->rank() != 1 ||
      zero_point->type().num_elements() == 1)
    return zero_point;
  return ctx.unsqueeze(zero_point, std::vector<int64_t>{1});
}

namespace {

Status quantize_linear(NodeContext& ctx) {
  QuantizeAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 1);
  attrs.block_size = ctx.attr_int("block_size", 0);
  attrs.saturate = ctx.attr_bool("saturate", true);
  ctx.ignore_attr("precision");  // of the division; kernels compute in f32 at least
  attrs.dtype = ctx.in(2) != nullptr ? ctx.dtype(2) : DType::U8;
  if (ctx.attr_int("output_dtype", 0) != 0) {
    const DType wanted = ctx.attr_dtype("output_dtype", DType::U8);
    if (ctx.in(2) != nullptr && wanted != attrs.dtype)
      return ctx.fail(Code::TypeMismatch,
                      "attribute 'output_dtype' is " + std::string(dtype_name(wanted)) +
                          ", the zero point is " + std::string(dtype_name(attrs.dtype)));
    attrs.dtype = wanted;
  }
  if (attrs.block_size != 0) return ctx.finish(OpKind::Quantize, ctx.tensors(), attrs);
  EC_TRY(ec::Tensor * scale, per_tensor(ctx, ctx.in(1)));
  EC_TRY(ec::Tensor * zero_point, per_tensor(ctx, ctx.in(2)));
  return ctx.finish(OpKind::Quantize, {ctx.in(0), scale, zero_point}, attrs);
}

Status dequantize_linear(NodeContext& ctx) {
  DequantizeAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 1);
  attrs.block_size = ctx.attr_int("block_size", 0);
  attrs.dtype = ctx.attr_int("output_dtype", 0) != 0 ? ctx.attr_dtype("output_dtype", DType::F32)
                                                     : ctx.dtype(1);
  if (attrs.block_size != 0) return ctx.finish(OpKind::Dequantize, ctx.tensors(), attrs);
  EC_TRY(ec::Tensor * scale, per_tensor(ctx, ctx.in(1)));
  EC_TRY(ec::Tensor * zero_point, per_tensor(ctx, ctx.in(2)));
  return ctx.finish(OpKind::Dequantize, {ctx.in(0), scale, zero_point}, attrs);
}

Status dynamic_quantize_linear(NodeContext& ctx) {
  EC_TRY(Operation * op, ctx.add_op(OpKind::DynamicQuantize, {ctx.in(0)}, {}, 3));
  for (size_t i = 0; i < 3; ++i) ctx.set(i, op->output(i));
  return {};
}

// (x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias?)
Status qlinear_conv(NodeContext& ctx) {
  EC_CHECK_OK(check_kernel_shape(ctx, ctx.in(3)));
  EC_TRY(ec::Tensor * x, dequantize(ctx, {ctx.in(0), ctx.in(1), ctx.in(2)}));
  EC_TRY(ec::Tensor * w, dequantize(ctx, {ctx.in(3), ctx.in(4), ctx.in(5)}, 0));
  ec::Tensor* bias = nullptr;
  if (ctx.has(8)) {
    EC_TRY(bias, dequantize_bias(ctx, ctx.in(8), ctx.in(1), ctx.in(4)));
  }
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Conv, {x, w, bias}, conv_attrs(ctx)));
  return finish_quantized(ctx, y, ctx.in(6), ctx.in(7));
}

// A matrix with one scale and zero point per row (a) or column (b), or one of each.
Result<ec::Tensor*> dequantize_matrix(NodeContext& ctx, const QuantizedInput& input, bool rows) {
  if (!input.x->shape() || input.x->shape()->rank() < 2) return dequantize(ctx, input);
  const auto rank = static_cast<int64_t>(input.x->shape()->rank());
  return dequantize(ctx, input, rows ? rank - 2 : rank - 1);
}

// (a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
Status qlinear_matmul(NodeContext& ctx) {
  EC_TRY(ec::Tensor * a, dequantize_matrix(ctx, {ctx.in(0), ctx.in(1), ctx.in(2)}, true));
  EC_TRY(ec::Tensor * b, dequantize_matrix(ctx, {ctx.in(3), ctx.in(4), ctx.in(5)}, false));
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::MatMul, {a, b}, MatMulAttrs{}));
  return finish_quantized(ctx, y, ctx.in(6), ctx.in(7));
}

Status finish_integer(NodeContext& ctx, ec::Tensor* y) {
  CastAttrs attrs;
  attrs.to = DType::I32;
  return ctx.finish(OpKind::Cast, {y}, attrs);
}

// Products per output element: all of a filter.
std::optional<int64_t> filter_size(const ec::Tensor* weights) {
  if (!weights->type().is_static() || weights->shape()->rank() < 1) return std::nullopt;
  const std::vector<int64_t> sizes = weights->shape()->sizes();
  return Shape::of(std::span(sizes).subspan(1)).num_elements();
}

// (x, w, x_zero?, w_zero?) -> int32
Status conv_integer(NodeContext& ctx) {
  EC_CHECK_OK(check_kernel_shape(ctx, ctx.in(1)));
  const DType dtype = exact_type(filter_size(ctx.in(1)), DType::F64);
  EC_TRY(ec::Tensor * x, centred(ctx, ctx.in(0), ctx.in(2), dtype));
  ec::Tensor* w_zero = ctx.in(3);
  // One zero point per output channel.
  if (w_zero != nullptr && w_zero->shape() && w_zero->shape()->rank() == 1 && ctx.in(1)->shape()) {
    std::vector<int64_t> axes;
    for (size_t i = 1; i < ctx.in(1)->shape()->rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    EC_TRY(w_zero, ctx.unsqueeze(w_zero, axes));
  }
  EC_TRY(ec::Tensor * w, centred(ctx, ctx.in(1), w_zero, dtype));
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Conv, {x, w}, conv_attrs(ctx)));
  return finish_integer(ctx, y);
}

// Products per output element: the last dimension of a.
std::optional<int64_t> inner_size(const ec::Tensor* a) {
  if (!a->shape() || a->shape()->rank() < 1) return std::nullopt;
  const Dim& last = (*a->shape())[a->shape()->rank() - 1];
  return last.is_static() ? std::optional(last.size()) : std::nullopt;
}

// (a, b, a_zero?, b_zero?) -> int32
Status matmul_integer(NodeContext& ctx) {
  const DType dtype = exact_type(inner_size(ctx.in(0)), DType::I32);
  EC_TRY(ec::Tensor * a_zero, as_column(ctx, ctx.in(2)));
  EC_TRY(ec::Tensor * a, centred(ctx, ctx.in(0), a_zero, dtype));
  EC_TRY(ec::Tensor * b, centred(ctx, ctx.in(1), ctx.in(3), dtype));
  if (dtype == DType::I32) return ctx.finish(OpKind::MatMul, {a, b}, MatMulAttrs{});
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::MatMul, {a, b}, MatMulAttrs{}));
  return finish_integer(ctx, y);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"QuantizeLinear", 10, kLatest, {2, 3}, k1, quantize_linear},
    {"DequantizeLinear", 10, kLatest, {2, 3}, k1, dequantize_linear},
    {"DynamicQuantizeLinear", 11, kLatest, k1, {3, 3}, dynamic_quantize_linear},
    {"QLinearConv", 10, kLatest, {8, 9}, k1, qlinear_conv},
    {"QLinearMatMul", 10, kLatest, {8, 8}, k1, qlinear_matmul},
    {"ConvInteger", 10, kLatest, {2, 4}, k1, conv_integer},
    {"MatMulInteger", 10, kLatest, {2, 4}, k1, matmul_integer},
};

}  // namespace

const std::span<const OpRow> kQuantizeRows = kRows;

}  // namespace ec::onnx
