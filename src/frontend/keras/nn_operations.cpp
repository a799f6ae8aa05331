// keras.ops: activations, convolutions, pools, normalisation, images.
#include <algorithm>
#include <cmath>

#include "frontend/keras/activation.h"
#include "frontend/keras/attention.h"
#include "frontend/keras/convolution.h"
#include "frontend/keras/normalization.h"
#include "frontend/keras/operands.h"
#include "frontend/keras/pooling.h"
#include "frontend/keras/resize.h"
#include "frontend/keras/table.h"
#include "ops/window.h"

namespace ec::keras {
namespace {

// Operations that are named like their activation.
Value by_name(LayerCall& c) {
  const ActivationFn apply = find_activation(snake_case(c.layer().class_name));
  if (apply == nullptr) return c.unsupported("this activation");
  return apply(c, c.float_x());
}

Value gelu_operation(LayerCall& c) { return gelu(c, c.float_x(), c.flag("approximate", true)); }
Value leaky_operation(LayerCall& c) {
  return leaky_relu(c, c.float_x(), c.number("negative_slope", 0.2));
}
template <OpKind kKind>
Value with_alpha(LayerCall& c) {
  AlphaAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha", 1));
  return c.add(kKind, {c.float_x()}, attrs);
}
template <bool kSoft>
Value shrink(LayerCall& c) {
  ShrinkAttrs attrs;
  attrs.lambd = static_cast<float>(c.number("threshold", 0.5));
  if (kSoft) attrs.bias = attrs.lambd;
  return c.add(OpKind::Shrink, {c.float_x()}, attrs);
}
Value squareplus_operation(LayerCall& c) { return squareplus(c, c.float_x(), c.number("b", 4)); }
Value glu_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  return glu(c, x, c.axis(c.integer("axis", -1), c.rank(x)));
}
Value sparsemax_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  return sparsemax(c, x, c.axis(c.integer("axis", -1), c.rank(x)));
}
Value threshold(LayerCall& c) {
  Tensor* x = c.float_x();
  Tensor* above = c.add(OpKind::Greater, {x, c.like(x, c.number("threshold", 0))});
  return c.where(above, x, c.like(x, c.number("default_value", 0)));
}
Value softmax_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  if (c.config("axis").is_none() && c.layer().config.has("axis")) return c.unsupported("axis=None");
  return softmax_over(c, x, c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x)));
}
Value log_softmax_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  AxisAttrs attrs;
  attrs.axis = c.axis(c.integer("axis", -1), c.rank(x));
  return c.add(OpKind::LogSoftmax, {x}, attrs);
}

size_t spatial_of(LayerCall& c, Tensor* x) {
  return static_cast<size_t>(std::clamp<int64_t>(c.rank(x) - 2, 1, 8));
}
ConvAttrs conv_attributes(LayerCall& c, size_t spatial) {
  ConvAttrs attrs;
  attrs.layout = c.channels_first() ? Layout::ChannelsFirst : Layout::ChannelsLast;
  attrs.strides = c.has("strides") ? c.window("strides", spatial) : Ints(spatial, 1);
  attrs.dilations = c.has("dilation_rate") ? c.window("dilation_rate", spatial) : Ints(spatial, 1);
  return attrs;
}
// A kernel that the model has as a constant; computed ones have no layout of their own.
Tensor* kernel_argument(LayerCall& c, size_t index, std::string_view name) {
  Tensor* kernel = c.optional_tensor(c.arg(index, name));
  if (kernel != nullptr && kernel->is_constant()) return kernel;
  return c.unsupported("a kernel that is computed");
}
Value conv(LayerCall& c) {
  Tensor* x = c.float_x();
  return convolve(c, x, kernel_argument(c, 1, "kernel"), nullptr,
                  conv_attributes(c, spatial_of(c, x)), c.text("padding", "valid"));
}
Value depthwise_conv(LayerCall& c) {
  Tensor* x = c.float_x();
  return convolve_depthwise(c, x, kernel_argument(c, 1, "kernel"), nullptr,
                            conv_attributes(c, spatial_of(c, x)), c.text("padding", "valid"));
}

template <OpKind kKind>
Value pool_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  const size_t spatial = spatial_of(c, x);
  const Ints kernel = c.window("pool_size", spatial);
  return pool(c, kKind, x, kernel, c.has("strides") ? c.window("strides", spatial) : kernel,
              c.text("padding", "valid"), c.channels_first());
}

Value one_hot(LayerCall& c) {
  Tensor* ids = c.x();
  if (!is_integer(ids->dtype())) ids = c.cast(ids, DType::I32);
  OneHotAttrs attrs;
  attrs.axis = c.integer("axis", -1);
  const DType type = dtype_of(c.config("dtype")).value_or(DType::F32);
  Tensor* values = c.cast(c.floats(Shape{Dim(2)}, std::vector<float>{0, 1}), type);
  return c.add(OpKind::OneHot,
               {ids, c.scalar(DType::I64, static_cast<double>(c.integer("num_classes"))), values},
               attrs);
}

Value normalize(LayerCall& c) {
  Tensor* x = c.float_x();
  const Ints axes = axes_of(c, c.has("axis") ? c.config("axis") : Value::integer(-1), c.rank(x));
  if (c.integer("order", 2) != 2) return c.unsupported("an order other than 2");
  const double epsilon = c.number("epsilon", 1e-7);
  return l2_normalize(c, x, axes, epsilon * epsilon);
}
Value layer_norm_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  if (c.flag("rms_scaling", false)) return c.unsupported("rms_scaling");
  return layer_norm(c, x, c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x)),
                    c.optional_tensor(c.arg(1, "gamma")), c.optional_tensor(c.arg(2, "beta")),
                    c.number("epsilon", 1e-7));
}
Value rms_norm_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  return rms_norm(c, x, c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x)),
                  c.optional_tensor(c.arg(1, "scale")), c.number("epsilon", 1e-7));
}
Value attention_operation(LayerCall& c) {
  const Value& scale = c.arg(5, "scale");
  if (c.has("attn_logits_soft_cap")) return c.unsupported("attn_logits_soft_cap");
  Tensor* q = c.optional_tensor(c.arg(0, "query"));
  Tensor* k = c.optional_tensor(c.arg(1, "key"));
  Tensor* v = c.optional_tensor(c.arg(2, "value"));
  if (q == nullptr || k == nullptr || v == nullptr)
    return c.fail(Code::BadArity, "an operand is missing");
  return dot_product_attention(c, q, k, v, c.optional_tensor(c.arg(3, "bias")),
                               c.optional_tensor(c.arg(4, "mask"), DType::Bool),
                               scale.is_number() ? std::optional(scale.as_number()) : std::nullopt,
                               c.flag("is_causal", false));
}

template <OpKind kKind, class A>
Value depth_and_space(LayerCall& c) {
  A attrs;
  attrs.block = c.integer("block_size");
  attrs.layout = c.channels_first() ? Layout::ChannelsFirst : Layout::ChannelsLast;
  return c.add(kKind, {c.x()}, attrs);
}

Value resize_operation(LayerCall& c) {
  Tensor* x = c.float_x();
  const int64_t rank = c.rank(x);
  if (rank != 3 && rank != 4) return c.fail(Code::ShapeMismatch, "an image is needed");
  if (c.flag("crop_to_aspect_ratio", false) || c.flag("pad_to_aspect_ratio", false))
    return c.unsupported("an aspect ratio that is kept");
  const int64_t at = c.channels_first() ? rank - 2 : rank - 3;
  return resize(c, x, {at, at + 1}, c.window("size", 2), c.text("interpolation", "bilinear"),
                c.flag("antialias", false));
}

Value grayscale(LayerCall& c) {
  Tensor* x = c.float_x();
  const int64_t rank = c.rank(x), axis = c.channels_first() ? rank - 3 : rank - 1;
  if (rank < 3) return c.fail(Code::ShapeMismatch, "an image is needed");
  const std::vector<float> weights = {0.2989f, 0.587f, 0.114f};
  Tensor* w = c.reshape(c.floats(Shape{Dim(3)}, weights), c.along(rank, axis, 3));
  return c.reduce(OpKind::ReduceSum, c.times(x, w), {axis}, true);
}

constexpr LayerRow kRows[] = {
    {"Relu", by_name},
    {"Relu6", by_name},
    {"Sigmoid", by_name},
    {"SparseSigmoid", by_name},
    {"SparsePlus", by_name},
    {"Softplus", by_name},
    {"Softsign", by_name},
    {"Silu", by_name},
    {"LogSigmoid", by_name},
    {"HardSigmoid", by_name},
    {"HardSilu", by_name},
    {"Selu", by_name},
    {"TanhShrink", by_name},
    {"HardTanh", by_name},
    {"SoftShrink", shrink<true>},
    {"HardShrink", shrink<false>},
    {"Squareplus", squareplus_operation},
    {"LeakyRelu", leaky_operation},
    {"Elu", with_alpha<OpKind::Elu>},
    {"Celu", with_alpha<OpKind::Celu>},
    {"Gelu", gelu_operation},
    {"Glu", glu_operation},
    {"Threshold", threshold},
    {"Softmax", softmax_operation},
    {"LogSoftmax", log_softmax_operation},
    {"Sparsemax", sparsemax_operation},
    {"MaxPool", pool_operation<OpKind::MaxPool>},
    {"AveragePool", pool_operation<OpKind::AvgPool>},
    {"Conv", conv},
    {"DepthwiseConv", depthwise_conv},
    {"OneHot", one_hot},
    {"Normalize", normalize},
    {"LayerNorm", layer_norm_operation},
    {"RMSNorm", rms_norm_operation},
    {"DotProductAttention", attention_operation},
    {"DepthToSpace", depth_and_space<OpKind::DepthToSpace, DepthToSpaceAttrs>},
    {"SpaceToDepth", depth_and_space<OpKind::SpaceToDepth, SpaceToDepthAttrs>},
    {"Resize", resize_operation},
    {"RGBToGrayscale", grayscale},
};

}  // namespace

const std::span<const LayerRow> kNnOperations = kRows;

}  // namespace ec::keras
