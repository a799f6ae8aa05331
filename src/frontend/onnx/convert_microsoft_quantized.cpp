// Quantised operators of com.microsoft, as quantisation tools write them.
// (names and operands: ONNX Runtime's ContribOperators.md)
#include "frontend/onnx/quantized.h"
#include "frontend/onnx/table.h"
#include "frontend/onnx/window.h"

namespace ec::onnx {
namespace {

// The operand at inputs i, i + 1 and i + 2: values, scale, zero point.
QuantizedInput operand(const NodeContext& ctx, size_t i) {
  return {ctx.in(i), ctx.in(i + 1), ctx.in(i + 2)};
}

Layout layout_of(NodeContext& ctx) {
  return ctx.attr_bool("channels_last", false) ? Layout::ChannelsLast : Layout::ChannelsFirst;
}

// (a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
template <OpKind kKind>
Status qlinear_binary(NodeContext& ctx) {
  EC_TRY(ec::Tensor * a, dequantize(ctx, operand(ctx, 0)));
  EC_TRY(ec::Tensor * b, dequantize(ctx, operand(ctx, 3)));
  EC_TRY(ec::Tensor * y, ctx.add(kKind, {a, b}));
  return finish_quantized(ctx, y, ctx.in(6), ctx.in(7));
}

// (x, x_scale, x_zero, y_scale, y_zero): one op in between.
Status qlinear_unary(NodeContext& ctx, OpKind kind, Attrs attrs) {
  EC_TRY(ec::Tensor * x, dequantize(ctx, operand(ctx, 0)));
  EC_TRY(ec::Tensor * y, ctx.add(kind, {x}, std::move(attrs)));
  return finish_quantized(ctx, y, ctx.in(3), ctx.in(4));
}

Status qlinear_sigmoid(NodeContext& ctx) { return qlinear_unary(ctx, OpKind::Sigmoid, {}); }

Status qlinear_leaky_relu(NodeContext& ctx) {
  LeakyReluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 0.01f);
  return qlinear_unary(ctx, OpKind::LeakyRelu, attrs);
}

Status qlinear_softmax(NodeContext& ctx) {
  AxisAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  if (ctx.attr_int("opset", 13) < 13) {
    // The old meaning is the same only over the last dimension.
    EC_TRY(const size_t rank, ctx.rank());
    const auto last = static_cast<int64_t>(rank) - 1;
    if (attrs.axis != -1 && attrs.axis != last)
      return ctx.unsupported("softmax over several dimensions is not supported");
  }
  return qlinear_unary(ctx, OpKind::Softmax, attrs);
}

Status qlinear_average_pool(NodeContext& ctx) {
  PoolAttrs attrs;
  read_window(ctx, attrs);
  attrs.kernel = ctx.attr_ints("kernel_shape");
  attrs.ceil_mode = ctx.attr_bool("ceil_mode", false);
  attrs.count_include_pad = ctx.attr_bool("count_include_pad", false);
  attrs.layout = layout_of(ctx);
  return qlinear_unary(ctx, OpKind::AvgPool, attrs);
}

Status qlinear_global_average_pool(NodeContext& ctx) {
  GlobalPoolAttrs attrs;
  attrs.layout = layout_of(ctx);
  return qlinear_unary(ctx, OpKind::GlobalAvgPool, attrs);
}

Status qlinear_reduce_mean(NodeContext& ctx) {
  const std::vector<int64_t> axes = ctx.attr_ints("axes");
  ReduceAttrs attrs;
  attrs.keep_dims = ctx.attr_bool("keepdims", true);
  EC_TRY(ec::Tensor * x, dequantize(ctx, operand(ctx, 0)));
  EC_TRY(ec::Tensor * y,
         ctx.add(OpKind::ReduceMean, {x, axes.empty() ? nullptr : ctx.ints(axes)}, attrs));
  return finish_quantized(ctx, y, ctx.in(3), ctx.in(4));
}

// (y_scale, y_zero, (x, scale, zero)...)
Status qlinear_concat(NodeContext& ctx) {
  AxisAttrs attrs;
  attrs.axis = ctx.attr_int("axis");
  if (ctx.num_inputs() < 5 || (ctx.num_inputs() - 2) % 3 != 0)
    return ctx.fail(Code::BadArity, "inputs after the first two come in threes");
  std::vector<ec::Tensor*> parts;
  for (size_t i = 2; i < ctx.num_inputs(); i += 3) {
    if (ctx.in(i) == nullptr || ctx.in(i + 1) == nullptr)
      return ctx.fail(Code::BadArity, "an input has no name");
    EC_TRY(ec::Tensor * part, dequantize(ctx, operand(ctx, i)));
    parts.push_back(part);
  }
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Concat, parts, attrs));
  return finish_quantized(ctx, y, ctx.in(0), ctx.in(1));
}

// (condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero)
Status qlinear_where(NodeContext& ctx) {
  EC_TRY(ec::Tensor * x, dequantize(ctx, operand(ctx, 1)));
  EC_TRY(ec::Tensor * y, dequantize(ctx, operand(ctx, 4)));
  EC_TRY(ec::Tensor * z, ctx.add(OpKind::Where, {ctx.in(0), x, y}));
  return finish_quantized(ctx, z, ctx.in(7), ctx.in(8));
}

// QLinearConv with images in either layout; the weights stay [O, I, ...].
Status qlinear_conv(NodeContext& ctx) {
  const bool last = ctx.attr_bool("channels_last", false);
  EC_TRY(ec::Tensor * x, dequantize(ctx, operand(ctx, 0)));
  EC_TRY(ec::Tensor * w, dequantize(ctx, operand(ctx, 3), 0));
  ec::Tensor* bias = nullptr;
  if (ctx.has(8)) {
    EC_TRY(bias, dequantize_bias(ctx, ctx.in(8), ctx.in(1), ctx.in(4)));
  }
  ConvAttrs attrs = conv_attrs(ctx);
  ctx.ignore_attr("kernel_shape");
  if (last) {
    EC_TRY(const size_t rank, ctx.rank(3));
    std::vector<int64_t> perm = {0};
    for (size_t i = 2; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
    perm.push_back(1);
    EC_TRY(w, ctx.transpose(w, std::move(perm)));
    attrs.layout = Layout::ChannelsLast;
  }
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Conv, {x, w, bias}, attrs));
  return finish_quantized(ctx, y, ctx.in(6), ctx.in(7));
}

// (a, a_scale, a_zero, b, b_scale, b_zero, c?, y_scale?, y_zero?): without y_scale a float result.
Status qgemm(NodeContext& ctx) {
  GemmAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 1.0f);
  attrs.transpose_a = ctx.attr_bool("transA", false);
  attrs.transpose_b = ctx.attr_bool("transB", false);
  EC_TRY(ec::Tensor * a, dequantize(ctx, operand(ctx, 0)));
  EC_TRY(ec::Tensor * b, dequantize(ctx, operand(ctx, 3), attrs.transpose_b ? 0 : 1));
  ec::Tensor* c = nullptr;
  if (ctx.has(6)) {
    // The int32 bias is in units of alpha * a_scale * b_scale.
    EC_TRY(ec::Tensor * scale, ctx.add(OpKind::Mul, {ctx.in(1), ctx.in(4)}));
    EC_TRY(scale, ctx.add(OpKind::Mul, {scale, ctx.scalar(scale->dtype(), attrs.alpha)}));
    EC_TRY(c, ctx.cast(ctx.in(6), scale->dtype()));
    EC_TRY(c, ctx.add(OpKind::Mul, {c, scale}));
  }
  if (!ctx.has(7)) return ctx.finish(OpKind::Gemm, {a, b, c}, attrs);
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Gemm, {a, b, c}, attrs));
  return finish_quantized(ctx, y, ctx.in(7), ctx.in(8));
}

Result<ec::Tensor*> dequantize_columns(NodeContext& ctx, const QuantizedInput& b) {
  const auto rank = b.x->shape() ? static_cast<int64_t>(b.x->shape()->rank()) : 2;
  return dequantize(ctx, b, rank - 1);
}

Status finish_matmul(NodeContext& ctx, ec::Tensor* a, ec::Tensor* b, ec::Tensor* bias) {
  if (bias == nullptr) return ctx.finish(OpKind::MatMul, {a, b}, MatMulAttrs{});
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::MatMul, {a, b}, MatMulAttrs{}));
  return ctx.finish(OpKind::Add, {y, bias});
}

// (a, b, b_scale, b_zero?, bias?): a is quantised by its own range first.
Status dynamic_quantize_matmul(NodeContext& ctx) {
  EC_TRY(Operation * quantized, ctx.add_op(OpKind::DynamicQuantize, {ctx.in(0)}, {}, 3));
  EC_TRY(ec::Tensor * a,
         dequantize(ctx, {quantized->output(0), quantized->output(1), quantized->output(2)}));
  EC_TRY(ec::Tensor * b, dequantize_columns(ctx, {ctx.in(1), ctx.in(2), ctx.in(3)}));
  return finish_matmul(ctx, a, b, ctx.in(4));
}

// (a, b, a_scale, b_scale, a_zero?, b_zero?, bias?)
Status matmul_integer_to_float(NodeContext& ctx) {
  EC_TRY(ec::Tensor * a, dequantize(ctx, {ctx.in(0), ctx.in(2), ctx.in(4)}));
  EC_TRY(ec::Tensor * b, dequantize_columns(ctx, {ctx.in(1), ctx.in(3), ctx.in(5)}));
  return finish_matmul(ctx, a, b, ctx.in(6));
}

Status quantize_linear(NodeContext& ctx) {
  QuantizeAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 1);
  attrs.block_size = ctx.attr_int("block_size", 0);
  attrs.dtype = ctx.has(2) ? ctx.dtype(2) : DType::U8;
  EC_TRY(ec::Tensor * scale, per_tensor(ctx, ctx.in(1)));
  EC_TRY(ec::Tensor * zero_point, per_tensor(ctx, ctx.in(2)));
  return ctx.finish(OpKind::Quantize, {ctx.in(0), scale, zero_point}, attrs);
}

Status dequantize_linear(NodeContext& ctx) {
  DequantizeAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 1);
  attrs.block_size = ctx.attr_int("block_size", 0);
  attrs.dtype = ctx.dtype(1);
  EC_TRY(ec::Tensor * scale, per_tensor(ctx, ctx.in(1)));
  EC_TRY(ec::Tensor * zero_point, per_tensor(ctx, ctx.in(2)));
  return ctx.finish(OpKind::Dequantize, {ctx.in(0), scale, zero_point}, attrs);
}

constexpr Arity k1{1, 1};
// Zero points may be left out.
constexpr uint64_t kUnaryGaps = 1 << 2, kBinaryGaps = 1 << 2 | 1 << 5, kConcatGaps = 0x12;

constexpr OpRow kRows[] = {
    {"QLinearAdd", 1, kLatest, {7, 8}, k1, qlinear_binary<OpKind::Add>, false, kBinaryGaps},
    {"QLinearMul", 1, kLatest, {7, 8}, k1, qlinear_binary<OpKind::Mul>, false, kBinaryGaps},
    {"QLinearSigmoid", 1, kLatest, {4, 5}, k1, qlinear_sigmoid, false, kUnaryGaps},
    {"QLinearLeakyRelu", 1, kLatest, {4, 5}, k1, qlinear_leaky_relu, false, kUnaryGaps},
    {"QLinearSoftmax", 1, kLatest, {4, 5}, k1, qlinear_softmax, false, kUnaryGaps},
    {"QLinearAveragePool", 1, kLatest, {4, 5}, k1, qlinear_average_pool, false, kUnaryGaps},
    {"QLinearGlobalAveragePool", 1, kLatest, {5, 5}, k1, qlinear_global_average_pool},
    {"QLinearReduceMean", 1, kLatest, {4, 5}, k1, qlinear_reduce_mean, false, kUnaryGaps},
    {"QLinearConcat", 1, kLatest, {5, kMany}, k1, qlinear_concat, false, kConcatGaps},
    {"QLinearWhere", 1, kLatest, {9, 9}, k1, qlinear_where},
    {"QLinearConv", 1, kLatest, {8, 9}, k1, qlinear_conv},
    {"QGemm", 1, kLatest, {6, 9}, k1, qgemm},
    {"DynamicQuantizeMatMul", 1, kLatest, {3, 5}, k1, dynamic_quantize_matmul},
    {"MatMulIntegerToFloat", 1, kLatest, {4, 7}, k1, matmul_integer_to_float},
    {"QuantizeLinear", 1, kLatest, {2, 3}, k1, quantize_linear},
    {"DequantizeLinear", 1, kLatest, {2, 3}, k1, dequantize_linear},
};

}  // namespace

const std::span<const OpRow> kMicrosoftQuantizedRows = kRows;

}  // namespace ec::onnx
