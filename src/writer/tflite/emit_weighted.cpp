// Sums with weights: convolutions and matrix products.
#include <algorithm>

#include "ir/permuted_quant.h"
#include "writer/tflite/absorb.h"
#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"
#include "writer/tflite/padding.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// Steps beyond the range lead out of every image, and so does the largest one.
int32_t narrow(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

// An activation of the operation itself, or one that follows it.
struct Target {
  ActivationFunctionType activation;
  int32_t result;
};
Result<Target> target_of(OpEmitter& e, Activation kind, float alpha, float beta) {
  if (kind == Activation::None) {
    const auto fused = e.graph().fuse(e.op());
    return Target{fused.activation, e.graph().tensor(fused.result)};
  }
  const auto activation = activation_code(fused_clamp(kind, alpha, beta));
  if (!activation)
    return e.fail("a fused activation that is not relu, relu6 or [-1, 1]",
                  std::string(kPipelineHint));
  return Target{*activation, e.out()};
}

// 16x8 biases are 64-bit unless the operator says otherwise.
TensorType bias_type(const OpEmitter& e, size_t bias) {
  const bool wide = e.dtype() == DType::I16 && e.has(bias) && e.dtype(bias) == DType::I32;
  return wide ? TensorType::INT32 : TensorType::FLOAT32;
}

std::vector<int64_t> spatial(const ec::Tensor& weights) {
  const std::vector<int64_t> sizes = weights.shape()->sizes();
  return {sizes.begin() + 1, sizes.end() - 1};
}

// Zeros where there is no bias: the operator must have one.
int32_t zero_bias(OpEmitter& e) {
  const ec::Tensor& w = e.input(1);
  const int64_t channels = w.shape()->sizes()[0];
  ec::TensorType type(DType::F32, Shape{channels});
  if (e.input(0).type().quant && w.type().quant) {
    type.dtype = e.dtype() == DType::I16 ? DType::I64 : DType::I32;
    QuantParams quant = *w.type().quant;
    for (float& scale : quant.scales) scale *= e.input(0).type().quant->scales[0];
    std::fill(quant.zero_points.begin(), quant.zero_points.end(), 0);
    quant.axis = quant.per_channel() ? 0 : -1;
    type.quant = std::move(quant);
  }
  const std::vector<std::byte> zeros(static_cast<size_t>(channels) * element_size(type.dtype));
  return e.constant(std::move(type), Blob::copy_of(std::span<const std::byte>(zeros)));
}

// Filters in another order of dimensions: constants are permuted here and now.
int32_t filters(OpEmitter& e, const std::vector<int64_t>& perm) {
  if (e.input(1).is_constant()) return e.permuted_constant(e.input(1), perm);
  Shape shape = *e.input(1).shape();
  for (size_t d = 0; d < perm.size(); ++d)
    shape[d] = (*e.input(1).shape())[static_cast<size_t>(perm[d])];
  if (const ec::Tensor* stored = stored_constant(e.input(1)))
    return e.step(Op::DEQUANTIZE, {e.permuted_constant(*stored, perm)},
                  ec::TensorType(e.dtype(1), std::move(shape)),
                  options(BuiltinOptions::DequantizeOptions, CreateDequantizeOptions(e.fbb())));
  ec::TensorType type(e.dtype(1), std::move(shape));
  type.quant = permuted(e.input(1).type().quant, perm);
  return e.step(Op::TRANSPOSE, {e.in(1), e.ints(perm)}, std::move(type));
}

Status emit_conv_3d(OpEmitter& e, const WindowSpec& spec, Padding padding, const Target& target) {
  if (e.attrs<ConvAttrs>().groups != 1) return e.fail("groups of a three-dimensional convolution");
  if (e.input(0).type().quant || e.input(1).type().quant)
    return e.fail("integers in a three-dimensional convolution");
  std::vector<int32_t> inputs{e.in(0), filters(e, {1, 2, 3, 4, 0})};
  if (e.has(2)) inputs.push_back(e.in(2));
  e.add(Op::CONV_3D, std::move(inputs), {target.result},
        options(BuiltinOptions::Conv3DOptions,
                CreateConv3DOptions(e.fbb(), padding, narrow(spec.strides[0]),
                                    narrow(spec.strides[2]), narrow(spec.strides[1]),
                                    target.activation, narrow(spec.dilations[0]),
                                    narrow(spec.dilations[2]), narrow(spec.dilations[1]))));
  return {};
}

Status emit_conv(OpEmitter& e) {
  const auto& attrs = e.attrs<ConvAttrs>();
  const ec::Tensor &x = e.input(0), &w = e.input(1);
  if (attrs.layout != Layout::ChannelsLast || e.has(3) || !w.type().is_static() || !x.shape())
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  if (is_integer(x.dtype()) && (!x.type().quant || !w.type().quant))
    return e.fail("a convolution of integers that have no scales");
  const WindowSpec spec = window_spec(attrs, spatial(w));
  const auto padding = padding_of(x, spec);
  if (!padding) return e.fail("pads that are neither SAME nor VALID", std::string(kPipelineHint));
  EC_TRY(const Target target, target_of(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
  if (e.rank() == 5) return emit_conv_3d(e, spec, *padding, target);
  const Dim& channels = (*x.shape())[3];
  if (e.rank() != 4 || !channels.is_static())
    return e.fail("images of " + std::to_string(e.rank() - 2) + " dimensions",
                  std::string(kPipelineHint));
  const bool dilated = spec.dilations[0] != 1 || spec.dilations[1] != 1;
  const bool depthwise = is_depthwise(e.op());
  const std::vector<int32_t> inputs{e.in(0), depthwise ? filters(e, {3, 1, 2, 0}) : e.in(1),
                                    e.has(2) ? e.in(2) : zero_bias(e)};
  if (depthwise) {
    const int64_t multiplier = w.shape()->sizes()[0] / attrs.groups;
    e.add(Op::DEPTHWISE_CONV_2D, inputs, {target.result},
          options(BuiltinOptions::DepthwiseConv2DOptions,
                  CreateDepthwiseConv2DOptions(e.fbb(), *padding, narrow(spec.strides[1]),
                                               narrow(spec.strides[0]), narrow(multiplier),
                                               target.activation, narrow(spec.dilations[1]),
                                               narrow(spec.dilations[0]))),
          dilated ? 2 : 1);
    return {};
  }
  const TensorType bias = bias_type(e, 2);
  e.add(Op::CONV_2D, inputs, {target.result},
        options(BuiltinOptions::Conv2DOptions,
                CreateConv2DOptions(e.fbb(), *padding, narrow(spec.strides[1]),
                                    narrow(spec.strides[0]), target.activation,
                                    narrow(spec.dilations[1]), narrow(spec.dilations[0]), bias)),
        bias == TensorType::INT32 ? 8
        : attrs.groups > 1        ? 6
                                  : 1);
  return {};
}

Status emit_conv_transpose(OpEmitter& e) {
  const auto& attrs = e.attrs<ConvTransposeAttrs>();
  const ec::Tensor &x = e.input(0), &w = e.input(1);
  EC_CHECK_OK(e.require_static(x));
  if (attrs.layout != Layout::ChannelsLast || attrs.groups != 1 || e.rank() != 4 ||
      !w.type().is_static())
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  const WindowSpec spec = window_spec(attrs, spatial(w));
  std::vector<TransposedDim> windows;
  for (size_t d = 0; d < 2; ++d) {
    windows.push_back(resolve_transposed(attrs, spec, d, (*x.shape())[d + 1].size()));
    if (windows.back().dilation != 1) return e.fail("dilation", std::string(kPipelineHint));
  }
  const auto padding = padding_code(padding_scheme(windows));
  if (!padding) return e.fail("pads that are neither SAME nor VALID", std::string(kPipelineHint));
  EC_TRY(const Target target, target_of(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
  std::vector<int32_t> inputs{e.ints(e.op().output()->shape()->sizes()), filters(e, {3, 1, 2, 0}),
                              e.in(0)};
  if (e.has(2)) inputs.push_back(e.in(2));
  const TensorType bias = bias_type(e, 2);
  e.add(Op::TRANSPOSE_CONV, std::move(inputs), {target.result},
        options(BuiltinOptions::TransposeConvOptions,
                CreateTransposeConvOptions(e.fbb(), *padding, narrow(spec.strides[1]),
                                           narrow(spec.strides[0]), target.activation, bias)),
        bias == TensorType::INT32                           ? 5
        : target.activation != ActivationFunctionType::NONE ? 4
                                                            : 1);
  return {};
}

Status emit_fully_connected(OpEmitter& e, const Target& target, bool asymmetric) {
  const bool keep = e.rank() > 2;
  // Readers count rows by the columns of the weights.
  EC_CHECK_OK(e.require_static(e.input(1)));
  if ((*e.input(1).shape())[1] == Dim(0)) return e.fail("weights without elements");
  std::vector<int32_t> inputs{e.in(0), e.in(1)};
  if (e.has(2)) inputs.push_back(e.in(2));
  const TensorType bias = bias_type(e, 2);
  e.add(Op::FULLY_CONNECTED, std::move(inputs), {target.result},
        options(BuiltinOptions::FullyConnectedOptions,
                CreateFullyConnectedOptions(e.fbb(), target.activation,
                                            FullyConnectedOptionsWeightsFormat::DEFAULT, keep,
                                            asymmetric, bias)),
        bias == TensorType::INT32 ? 11
        : asymmetric              ? 9
        : keep                    ? 5
                                  : 1);
  return {};
}

Status emit_matmul(OpEmitter& e) {
  const auto& attrs = e.attrs<MatMulAttrs>();
  if (!e.input(0).shape() || !e.input(1).shape() || attrs.alpha != 1)
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  const bool constant = e.input(1).is_constant() || stored_constant(e.input(1)) != nullptr;
  const bool linear =
      constant && e.rank(1) == 2 && e.rank() >= 2 && attrs.transpose_b && !attrs.transpose_a;
  if (linear) {
    EC_TRY(const Target target, target_of(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
    return emit_fully_connected(e, target, attrs.asymmetric_quantize_inputs);
  }
  if (e.has(2) || attrs.activation != Activation::None || e.rank() < 2 || e.rank(1) < 2)
    return e.fail("a product with more than two matrices in it", std::string(kPipelineHint));
  if (e.rank() > 5 || e.rank(1) > 5) return e.fail("more than 5 dimensions");
  e.add(Op::BATCH_MATMUL, {e.in(0), e.in(1)}, {e.out()},
        options(BuiltinOptions::BatchMatMulOptions,
                CreateBatchMatMulOptions(e.fbb(), attrs.transpose_a, attrs.transpose_b,
                                         attrs.asymmetric_quantize_inputs)),
        attrs.asymmetric_quantize_inputs ? 4 : 1);
  return {};
}

Status emit_gemm(OpEmitter& e) {
  const auto& attrs = e.attrs<GemmAttrs>();
  const bool bias_fits = !e.has(2) || (attrs.beta == 1 && e.input(2).shape() && e.rank(2) == 1);
  if (attrs.alpha != 1 || attrs.transpose_a || !attrs.transpose_b || !bias_fits)
    return e.fail("not in the form that TFLite has", std::string(kPipelineHint));
  EC_TRY(const Target target, target_of(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
  return emit_fully_connected(e, target, attrs.asymmetric_quantize_inputs);
}

constexpr EmitRow kRows[] = {
    {OpKind::Conv, emit_conv},
    {OpKind::ConvTranspose, emit_conv_transpose},
    {OpKind::MatMul, emit_matmul},
    {OpKind::Gemm, emit_gemm},
};

}  // namespace

const std::span<const EmitRow> kEmitWeighted = kRows;

}  // namespace ec::tflite
