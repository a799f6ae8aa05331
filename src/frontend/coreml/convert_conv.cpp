// Convolutions. Weights of stored integers pass through as they are: constants behind dequantize.
#include "frontend/coreml/table.h"
#include "frontend/coreml/window.h"
#include "support/checked.h"

namespace ec::mil {
namespace {

// The sizes of a kernel: all but the first two dimensions of the weights.
Ints kernel_of(OpCall& c, Tensor* weight) {
  Ints kernel;
  for (int64_t i = 2, n = c.rank(weight); i < n; ++i) kernel.push_back(c.size(weight, i));
  return kernel;
}

Tensors conv_with(OpCall& c, Tensor* x, Tensor* weight, Tensor* bias) {
  const Window window = read_window(c, x, kernel_of(c, weight));
  ConvAttrs attrs;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.auto_pad = window.auto_pad;
  attrs.groups = c.integer("groups", 1);
  Tensors inputs = {x, weight};
  if (bias != nullptr) inputs.push_back(bias);
  return {c.add(OpKind::Conv, std::move(inputs), attrs)};
}

Tensors conv(OpCall& c) {
  Tensor* x = c.in("x");
  return conv_with(c, x, c.like_type("weight", x), c.like_type("bias", x));
}

// Weights of 8 bits: w * quant_scale + quant_bias.
Tensors conv_quantized(OpCall& c) {
  Tensor* x = c.in("x");
  if (c.text("quantization_type", "linear") != "linear" || c.integer("nbits", 8) != 8)
    return {c.unsupported("weights by a table, or of other than 8 bits, inside a convolution")};
  Tensor* weight = c.cast(c.in("weight"), x->dtype());
  const auto wide = [&](std::string_view parameter) {
    Tensor* values = c.like_type(parameter, x);
    if (c.rank(values) != 1) return values;
    Sizes sizes = {-1};
    for (int64_t i = 1, n = c.rank(weight); i < n; ++i) sizes.emplace_back(1);
    return c.reshape(values, sizes);
  };
  weight = c.add_weight(OpKind::Mul, {weight, wide("quant_scale")});
  weight = c.add_weight(OpKind::Add, {weight, wide("quant_bias")});
  Tensor* bias = c.maybe("bias");
  return conv_with(c, x, weight, bias == nullptr ? nullptr : c.cast(bias, x->dtype()));
}

// Pads of a transposed convolution whose result has a given size: what is too much is cut off, the
// odd element at the end, unless the pads in front are given. Too little is added at the end.
void fit_output(OpCall& c, Tensor* x, const Ints& kernel, const Ints& wanted, bool given,
                ConvTransposeAttrs& attrs) {
  const size_t spatial = kernel.size();
  attrs.pads.resize(2 * spatial, 0);
  attrs.output_padding.assign(spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = c.size(x, static_cast<int64_t>(i) + 2);
    if (!c.ok() || in > (int64_t{1} << 32)) {
      c.fail(Code::TooLarge, "an image is too large");
      return;
    }
    if (wanted[i] < 0 || wanted[i] > kMaxTensorBytes) {
      c.fail(Code::BadValue, "'output_shape' is out of range");
      return;
    }
    const int64_t full = (in - 1) * attrs.strides[i] + (kernel[i] - 1) * attrs.dilations[i] + 1;
    const int64_t total = full - wanted[i];
    const int64_t begin = given ? attrs.pads[i] : std::max<int64_t>(total, 0) / 2;
    attrs.pads[i] = begin;
    attrs.pads[spatial + i] = std::max<int64_t>(total - begin, 0);
    attrs.output_padding[i] = std::max<int64_t>(begin - total, 0);
  }
}

Tensors conv_transpose(OpCall& c) {
  Tensor* x = c.in("x");
  Tensor* weight = c.like_type("weight", x);
  const Ints kernel = kernel_of(c, weight);
  const std::string type = c.text("pad_type", "valid");
  const Window window = read_window(c, x, kernel);
  if (!c.ok()) return {weight};
  ConvTransposeAttrs attrs;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.groups = c.integer("groups", 1);
  if (c.has("output_shape")) {
    const Ints shape = c.ints("output_shape");
    // The whole shape, or that of the image alone.
    if (shape.size() != kernel.size() && shape.size() != kernel.size() + 2)
      return {c.fail(Code::ShapeMismatch, "'output_shape' does not fit the operand")};
    const Ints wanted(shape.end() - static_cast<int64_t>(kernel.size()), shape.end());
    fit_output(c, x, kernel, wanted, type == "custom", attrs);
  } else if (type == "same" || type == "same_lower") {
    Ints wanted;
    // What is larger is refused with the operand.
    for (size_t i = 0; i < kernel.size(); ++i)
      wanted.push_back(std::min(c.size(x, static_cast<int64_t>(i) + 2), int64_t{1} << 32) *
                       window.strides[i]);
    fit_output(c, x, kernel, wanted, false, attrs);
  }
  Tensors inputs = {x, weight};
  if (Tensor* bias = c.like_type("bias", x)) inputs.push_back(bias);
  return {c.add(OpKind::ConvTranspose, std::move(inputs), attrs)};
}

constexpr std::string_view kConv = "x weight bias? strides? pad_type? pad? dilations? groups?";

constexpr OpRow kRows[] = {
    {"conv", kIos15, kConv, conv},
    {"conv_quantized", kIos15,
     "x weight bias? quantization_type nbits? quant_scale quant_bias strides? pad_type? pad? "
     "dilations? groups?",
     conv_quantized},
    {"conv_transpose", kIos15,
     "x weight bias? pad? output_shape? pad_type? strides? dilations? groups?", conv_transpose},
};

}  // namespace

const std::span<const OpRow> kConvRows = kRows;

}  // namespace ec::mil
