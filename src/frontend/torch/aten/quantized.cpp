// Operators on quantised tensors with packed weights: the float op between dequantize and quantize,
// with the file's parameters.
#include <algorithm>
#include <cmath>

#include "frontend/torch/aten/convolution.h"
#include "frontend/torch/aten/dynamic_quantization.h"
#include "frontend/torch/aten/linear.h"
#include "frontend/torch/aten/quantization.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

Result<ec::Tensor*> real(Call& c, std::string_view name) {
  return dequantized(c.site(), c.ref(name));
}

// The result with the parameters that the call states, in the element type of the input.
Result<TorchValue> requantize(Call& c, ec::Tensor* y, std::string_view scale,
                              std::string_view zero_point, DType dtype) {
  auto quant = std::make_shared<QuantParams>(per_tensor(c.number(scale), c.integer(zero_point)));
  EC_TRY(TensorRef result, quantized(c.site(), y, std::move(quant), dtype));
  return TorchValue(std::move(result));
}

DType input_dtype(Call& c) { return c.tensor(c.schema().args.front().name)->dtype(); }

Result<ec::Tensor*> activated(Call& c, ec::Tensor* y, bool relu) {
  return relu ? c.add(OpKind::Relu, {y}) : Result<ec::Tensor*>(y);
}

// --- weighted sums -------------------------------------------------------------------------------

template <class T>
Result<const T*> packed(Call& c, std::string_view name) {
  const auto* value = c.arg(name).get_if<std::shared_ptr<const T>>();
  if (value != nullptr && *value != nullptr) return value->get();
  return c.fail(Code::TypeMismatch, "argument '" + std::string(name) + "' holds no packed weights");
}

Result<ec::Tensor*> convolve_packed(Call& c, ec::Tensor* x, const PackedConv& conv) {
  EC_TRY(ec::Tensor * weight, dequantized(c.site(), conv.weight));
  // One-dimensional convolutions are packed with a height of 1.
  const bool flat = c.rank(weight) == 4 && c.rank(x) == 3;
  if (flat) {
    EC_TRY(x, c.unsqueeze(x, {2}));
  }
  if (c.rank(weight) < 3) return c.fail(Code::ShapeMismatch, "weights without spatial dimensions");
  const auto spatial = static_cast<size_t>(c.rank(weight) - 2);
  const auto fitted = [&](Ints values, int64_t fill) {
    if (values.size() == 1) values.insert(values.begin(), spatial - 1, fill);
    values.resize(spatial, fill);
    return values;
  };
  Ints pads = fitted(conv.padding, 0);
  pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<ptrdiff_t>(spatial));
  ec::Tensor* y = nullptr;
  if (conv.transposed) {
    ConvTransposeAttrs attrs;
    attrs.strides = fitted(conv.stride, 1);
    attrs.dilations = fitted(conv.dilation, 1);
    attrs.output_padding = fitted(conv.output_padding, 0);
    attrs.pads = std::move(pads);
    attrs.groups = conv.groups;
    EC_TRY(y, convolve_transposed(c, x, weight, conv.bias, attrs));
  } else {
    ConvAttrs attrs;
    attrs.strides = fitted(conv.stride, 1);
    attrs.dilations = fitted(conv.dilation, 1);
    attrs.pads = std::move(pads);
    attrs.groups = conv.groups;
    EC_TRY(y, convolve(c, x, weight, conv.bias, attrs));
  }
  return flat ? c.squeeze(y, {2}) : Result<ec::Tensor*>(y);
}

template <bool kRelu>
Result<TorchValue> conv(Call& c) {
  EC_TRY(const PackedConv* weights, packed<PackedConv>(c, "packed_weight"));
  EC_TRY(ec::Tensor * x, real(c, "qx"));
  EC_TRY(ec::Tensor * y, convolve_packed(c, x, *weights));
  EC_TRY(y, activated(c, y, kRelu));
  return requantize(c, y, "output_scale", "output_zero_point", input_dtype(c));
}

template <bool kRelu>
Result<TorchValue> linear_static(Call& c) {
  EC_TRY(const PackedLinear* weights, packed<PackedLinear>(c, "W_prepack"));
  EC_TRY(ec::Tensor * x, real(c, "X"));
  EC_TRY(ec::Tensor * y, multiply_packed(c, x, *weights));
  EC_TRY(y, activated(c, y, kRelu));
  return requantize(c, y, "Y_scale_i", "Y_zero_point_i", input_dtype(c));
}

// --- activations quantised at run time -------------------------------

template <bool kRelu>
Result<ec::Tensor*> linear_dynamic(Call& c) {
  EC_TRY(const PackedLinear* weights, packed<PackedLinear>(c, "W_prepack"));
  EC_TRY(ec::Tensor * x, nearest_steps(c, c.tensor("X"), c.boolean("reduce_range")));
  EC_TRY(ec::Tensor * y, multiply_packed(c, x, *weights));
  return activated(c, y, kRelu);
}

// --- element-wise --------------------------------------------------------------------------------

template <OpKind kKind, bool kRelu>
Result<TorchValue> combine(Call& c) {
  EC_TRY(ec::Tensor * a, real(c, "qa"));
  EC_TRY(ec::Tensor * b, real(c, "qb"));
  EC_TRY(ec::Tensor * y, c.add(kKind, {a, b}));
  EC_TRY(y, activated(c, y, kRelu));
  return requantize(c, y, "scale", "zero_point", input_dtype(c));
}

Result<TorchValue> matmul(Call& c) {
  EC_TRY(ec::Tensor * a, real(c, "qa"));
  EC_TRY(ec::Tensor * b, real(c, "qb"));
  EC_TRY(ec::Tensor * y, c.add(OpKind::MatMul, {a, b}, MatMulAttrs{}));
  return requantize(c, y, "scale", "zero_point", input_dtype(c));
}

// With a number: the parameters move so that the integers stay as they are.
template <OpKind kKind, bool kRelu>
Result<TorchValue> combine_number(Call& c) {
  const TensorRef x = c.ref("qa");
  if (!x.quant) return c.fail(Code::TypeMismatch, "the operand is not quantised");
  const double number = c.number("b");
  EC_TRY(ec::Tensor * a, dequantized(c.site(), x));
  EC_TRY(ec::Tensor * y, c.add(kKind, {a, c.scalar(a->dtype(), number)}));
  EC_TRY(y, activated(c, y, kRelu));
  const double scale = x.quant->scales.front();
  const int64_t zero = x.quant->zero_points.front();
  const DType dtype = x.tensor->dtype();
  const int64_t low = lowest_integer(dtype), high = static_cast<int64_t>(highest_integer(dtype));
  QuantParams quant = per_tensor(scale, zero);
  if (kKind == OpKind::Mul) {
    if (number == 0) quant = per_tensor(1, 0);
    if (number > 0) quant = per_tensor(scale * number, zero);
    if (number < 0) quant = per_tensor(scale * -number, low + high - zero);
  } else {
    // Far beyond any type's range sums with it need not be right, only free of overflow.
    const auto shift =
        static_cast<int64_t>(std::clamp(std::nearbyint(number / scale), -0x1p53, 0x1p53));
    const int64_t moved = zero - shift;
    if (moved >= low && moved <= high) {
      quant = per_tensor(scale, moved);
    } else {  // the range grows to hold both ends
      const double span = static_cast<double>(high - low);
      const double wider = moved < low ? static_cast<double>(high - moved) / span
                                       : static_cast<double>(moved - low) / span;
      quant = per_tensor(scale * wider, moved < low ? low : high);
    }
  }
  EC_TRY(TensorRef result,
         quantized(c.site(), y, std::make_shared<QuantParams>(std::move(quant)), dtype));
  return TorchValue(std::move(result));
}

Result<TorchValue> cat(Call& c) {
  const std::vector<TorchValue> items = c.items("qx");
  const auto* first = items.empty() ? nullptr : items.front().get_if<TensorRef>();
  if (first == nullptr || !first->quant)
    return c.fail(Code::TypeMismatch, "the operands are not quantised");
  std::vector<TorchValue> reals;
  for (const TorchValue& item : items) {
    EC_TRY(const TensorRef ref, as_tensor(c.site(), item));
    EC_TRY(ec::Tensor * x, dequantized(c.site(), ref));
    reals.emplace_back(x);
  }
  EC_TRY(ec::Tensor * y, c.op("aten::cat", {TorchValue::list(std::move(reals)), c.integer("dim")}));
  auto quant =
      c.has("scale")
          ? std::make_shared<QuantParams>(per_tensor(c.number("scale"), c.integer("zero_point")))
          : std::make_shared<QuantParams>(*first->quant);
  EC_TRY(TensorRef result, quantized(c.site(), y, std::move(quant), first->tensor->dtype()));
  return TorchValue(std::move(result));
}

// The float operator of the same meaning on the first argument and those named here.
Result<TorchValue> as_float(Call& c, std::string_view op, std::vector<TorchValue> rest) {
  EC_TRY(ec::Tensor * x, real(c, c.schema().args.front().name));
  rest.insert(rest.begin(), x);
  EC_TRY(ec::Tensor * y, c.op(op, std::move(rest)));
  return requantize(c, y, "output_scale", "output_zero_point", input_dtype(c));
}
Result<TorchValue> hardswish(Call& c) { return as_float(c, "aten::hardswish", {}); }
Result<TorchValue> sigmoid(Call& c) { return as_float(c, "aten::sigmoid", {}); }
Result<TorchValue> leaky_relu(Call& c) {
  return as_float(c, "aten::leaky_relu", {c.number("negative_slope")});
}
Result<TorchValue> elu(Call& c) {
  return as_float(c, "aten::elu", {c.number("alpha"), c.number("scale"), c.number("input_scale")});
}
Result<TorchValue> celu(Call& c) { return as_float(c, "aten::celu", {c.number("alpha")}); }
Result<TorchValue> prelu(Call& c) { return as_float(c, "aten::prelu", {c.tensor("weight")}); }
Result<TorchValue> softmax(Call& c) { return as_float(c, "aten::softmax", {c.integer("dim")}); }
Result<TorchValue> layer_norm(Call& c) {
  return as_float(c, "aten::layer_norm",
                  {c.arg("normalized_shape"), c.arg("weight"), c.arg("bias"), c.number("eps")});
}
Result<TorchValue> group_norm(Call& c) {
  return as_float(c, "aten::group_norm",
                  {c.integer("num_groups"), c.arg("weight"), c.arg("bias"), c.number("eps")});
}
Result<TorchValue> instance_norm(Call& c) {
  return as_float(c, "aten::instance_norm",
                  {c.arg("weight"), c.arg("bias"), TorchValue(), TorchValue(), true, 0.0,
                   c.number("eps"), false});
}
template <bool kRelu>
Result<TorchValue> batch_norm(Call& c) {
  EC_TRY(ec::Tensor * x, real(c, "qx"));
  EC_TRY(ec::Tensor * y,
         c.op("aten::batch_norm", {x, c.arg("weight"), c.arg("bias"), c.arg("mean"), c.arg("var"),
                                   false, 0.0, c.number("eps"), false}));
  EC_TRY(y, activated(c, y, kRelu));
  return requantize(c, y, "output_scale", "output_zero_point", input_dtype(c));
}

// --- packing -------------------------------------------------------------------------------------

template <bool kTransposed>
Result<TorchValue> conv_prepack(Call& c) {
  PackedConv conv;
  conv.weight = c.ref("weight");
  conv.bias = c.tensor("bias");
  conv.stride = c.ints("stride");
  conv.padding = c.ints("padding");
  conv.dilation = c.ints("dilation");
  conv.groups = c.integer("groups");
  conv.transposed = kTransposed;
  if (kTransposed) conv.output_padding = c.ints("output_padding");
  return TorchValue(TorchValue::Conv(std::make_shared<PackedConv>(std::move(conv))));
}

Result<TorchValue> linear_prepack(Call& c) {
  return TorchValue(
      TorchValue::Linear(std::make_shared<PackedLinear>(PackedLinear{c.ref("W"), c.tensor("B")})));
}

#define EC_CONV \
  "(Tensor qx, Packed packed_weight, float output_scale, int output_zero_point) -> Tensor"
#define EC_LINEAR "(Tensor X, Packed W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor"
#define EC_DYNAMIC "(Tensor X, Packed W_prepack, bool reduce_range=False) -> Tensor"
#define EC_PAIR "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor"
#define EC_NUMBER "(Tensor qa, Scalar b) -> Tensor"
#define EC_OUT "float output_scale, int output_zero_point"
#define EC_PREPACK                                                                             \
  "(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> " \
  "Packed"
#define EC_PREPACK_TRANSPOSED                                                         \
  "(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, " \
  "int[] dilation, int groups) -> Packed"

constexpr OperatorRow kRows[] = {
    {"quantized::conv1d" EC_CONV, conv<false>, true},
    {"quantized::conv1d_relu" EC_CONV, conv<true>, true},
    {"quantized::conv2d.new" EC_CONV, conv<false>, true},
    {"quantized::conv2d_relu.new" EC_CONV, conv<true>, true},
    {"quantized::conv3d.new" EC_CONV, conv<false>, true},
    {"quantized::conv3d_relu.new" EC_CONV, conv<true>, true},
    {"quantized::conv_transpose1d" EC_CONV, conv<false>, true},
    {"quantized::conv_transpose2d" EC_CONV, conv<false>, true},
    {"quantized::conv_transpose3d" EC_CONV, conv<false>, true},
    {"quantized::linear" EC_LINEAR, linear_static<false>, true},
    {"quantized::linear_relu" EC_LINEAR, linear_static<true>, true},
    {"quantized::linear_dynamic" EC_DYNAMIC, linear_dynamic<false>, true},
    {"quantized::linear_relu_dynamic" EC_DYNAMIC, linear_dynamic<true>, true},
    {"quantized::add" EC_PAIR, combine<OpKind::Add, false>, true},
    {"quantized::add_relu" EC_PAIR, combine<OpKind::Add, true>, true},
    {"quantized::mul" EC_PAIR, combine<OpKind::Mul, false>, true},
    {"quantized::mul_relu" EC_PAIR, combine<OpKind::Mul, true>, true},
    {"quantized::matmul" EC_PAIR, matmul, true},
    {"quantized::add_scalar" EC_NUMBER, combine_number<OpKind::Add, false>, true},
    {"quantized::add_scalar_relu" EC_NUMBER, combine_number<OpKind::Add, true>, true},
    {"quantized::add.Scalar" EC_NUMBER, combine_number<OpKind::Add, false>, true},
    {"quantized::mul_scalar" EC_NUMBER, combine_number<OpKind::Mul, false>, true},
    {"quantized::mul_scalar_relu" EC_NUMBER, combine_number<OpKind::Mul, true>, true},
    {"quantized::mul.Scalar" EC_NUMBER, combine_number<OpKind::Mul, false>, true},
    {"quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor", cat, true},
    {"quantized::hardswish(Tensor input, " EC_OUT ") -> Tensor", hardswish, true},
    {"quantized::sigmoid(Tensor qx, " EC_OUT ") -> Tensor", sigmoid, true},
    {"quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, " EC_OUT ") -> Tensor",
     leaky_relu, true},
    {"quantized::elu(Tensor self, " EC_OUT
     ", Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     elu, true},
    {"quantized::celu(Tensor self, " EC_OUT ", Scalar alpha=1) -> Tensor", celu, true},
    {"quantized::prelu(Tensor qx, Tensor weight, " EC_OUT ") -> Tensor", prelu, true},
    {"quantized::softmax(Tensor qx, int dim, " EC_OUT ") -> Tensor", softmax, true},
    {"quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
     "float eps, " EC_OUT ") -> Tensor",
     layer_norm, true},
    {"quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, "
     "float eps, " EC_OUT ") -> Tensor",
     group_norm, true},
    {"quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, " EC_OUT
     ") -> Tensor",
     instance_norm, true},
    {"quantized::batch_norm(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
     "float eps, " EC_OUT ") -> Tensor",
     batch_norm<false>, true},
    {"quantized::batch_norm1d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
     "float eps, " EC_OUT ") -> Tensor",
     batch_norm<false>, true},
    {"quantized::batch_norm2d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
     "float eps, " EC_OUT ") -> Tensor",
     batch_norm<false>, true},
    {"quantized::batch_norm2d_relu(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, "
     "Tensor var, float eps, " EC_OUT ") -> Tensor",
     batch_norm<true>, true},
    {"quantized::batch_norm3d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
     "float eps, " EC_OUT ") -> Tensor",
     batch_norm<false>, true},
    {"quantized::conv1d_prepack" EC_PREPACK, conv_prepack<false>, true},
    {"quantized::conv2d_prepack" EC_PREPACK, conv_prepack<false>, true},
    {"quantized::conv3d_prepack" EC_PREPACK, conv_prepack<false>, true},
    {"quantized::conv_prepack" EC_PREPACK, conv_prepack<false>, true},
    {"quantized::conv_transpose1d_prepack" EC_PREPACK_TRANSPOSED, conv_prepack<true>, true},
    {"quantized::conv_transpose2d_prepack" EC_PREPACK_TRANSPOSED, conv_prepack<true>, true},
    {"quantized::conv_transpose3d_prepack" EC_PREPACK_TRANSPOSED, conv_prepack<true>, true},
    {"quantized::linear_prepack(Tensor W, Tensor? B=None) -> Packed", linear_prepack, true},
};

}  // namespace

const std::span<const OperatorRow> kQuantizedRows = kRows;

}  // namespace ec::torch
