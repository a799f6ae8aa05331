// Activations.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

template <OpKind kKind>
Tensors plain(OpCall& c) {
  return {c.add(kKind, {c.in("x")})};
}

template <OpKind kKind, class Attrs>
Tensors with_alpha(OpCall& c) {
  Attrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  return {c.add(kKind, {c.in("x")}, attrs)};
}

Tensors relu6(OpCall& c) { return {c.clip(c.in("x"), 0.0, 6.0)}; }

Tensors clip(OpCall& c) { return {c.clip(c.in("x"), c.number("alpha"), c.number("beta"))}; }

Tensors threshold(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.add(OpKind::Max, {x, c.like(x, c.number("alpha"))})};
}

// What is equal to the threshold stays, other than in ONNX.
Tensors thresholded_relu(OpCall& c) {
  Tensor* x = c.in("x");
  const double alpha = c.number("alpha");
  if (alpha == 0) return {c.add(OpKind::Relu, {x})};
  Tensor* below = c.add(OpKind::Less, {x, c.like(x, alpha)});
  return {c.where(below, c.like(x, 0), x)};
}

Tensors clamped_relu(OpCall& c) {
  LeakyReluAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  Tensor* x = c.add(OpKind::LeakyRelu, {c.in("x")}, attrs);
  return {c.add(OpKind::Min, {x, c.like(x, c.number("beta"))})};
}

Tensors linear_activation(OpCall& c) {
  return {c.plus(c.times(c.in("x"), c.number("alpha")), c.number("beta"))};
}

Tensors sigmoid_hard(OpCall& c) {
  HardSigmoidAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  attrs.beta = static_cast<float>(c.number("beta"));
  return {c.add(OpKind::HardSigmoid, {c.in("x")}, attrs)};
}

Tensors scaled_tanh(OpCall& c) {
  Tensor* inner = c.times(c.in("x"), c.number("beta"));
  return {c.times(c.add(OpKind::Tanh, {inner}), c.number("alpha"))};
}

// One value for each channel, which is the second dimension of x.
Tensor* by_channel(OpCall& c, std::string_view parameter, Tensor* x) {
  Tensor* values = c.like_type(parameter, x);
  Sizes sizes = {-1};
  for (int64_t i = 2, n = c.rank(x); i < n; ++i) sizes.emplace_back(1);
  return c.rank(values) == 0 ? values : c.reshape(values, sizes);
}

Tensors prelu(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.add(OpKind::Prelu, {x, by_channel(c, "alpha", x)})};
}

Tensors softplus_parametric(OpCall& c) {
  Tensor* x = c.in("x");
  Tensor* inner = c.add(OpKind::Softplus, {c.times(x, by_channel(c, "beta", x))});
  return {c.times(inner, by_channel(c, "alpha", x))};
}

Tensors gelu(OpCall& c) {
  Tensor* x = c.in("x");
  const std::string mode = c.text("mode", "EXACT");
  if (mode == "SIGMOID_APPROXIMATION") {
    SiluAttrs attrs;
    attrs.alpha = 1.702f;
    return {c.add(OpKind::Silu, {x}, attrs)};
  }
  GeluAttrs attrs;
  if (mode == "TANH_APPROXIMATION")
    attrs.form = GeluForm::Tanh;
  else if (mode != "EXACT")
    return {c.unsupported("gelu of the mode '" + mode + "'")};
  return {c.add(OpKind::Gelu, {x}, attrs)};
}

Tensors softmax(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.softmax(x, c.axis_of(x, "axis", -1))};
}

constexpr OpRow kRows[] = {
    {"relu", kIos15, "x", plain<OpKind::Relu>},
    {"relu6", kIos15, "x", relu6},
    {"sigmoid", kIos15, "x", plain<OpKind::Sigmoid>},
    {"silu", kIos15, "x", plain<OpKind::Silu>},
    {"softplus", kIos15, "x", plain<OpKind::Softplus>},
    {"softsign", kIos15, "x", plain<OpKind::Softsign>},
    {"leaky_relu", kIos15, "x alpha", with_alpha<OpKind::LeakyRelu, LeakyReluAttrs>},
    {"elu", kIos15, "x alpha", with_alpha<OpKind::Elu, AlphaAttrs>},
    {"thresholded_relu", kIos15, "x alpha", thresholded_relu},
    {"threshold", kIos15, "x alpha", threshold},
    {"clip", kIos15, "x alpha beta", clip},
    {"prelu", kIos15, "x alpha", prelu},
    {"clamped_relu", kIos15, "x alpha beta", clamped_relu},
    {"linear_activation", kIos15, "x alpha beta", linear_activation},
    {"sigmoid_hard", kIos15, "x alpha beta", sigmoid_hard},
    {"scaled_tanh", kIos15, "x alpha beta", scaled_tanh},
    {"softplus_parametric", kIos15, "x alpha beta", softplus_parametric},
    {"gelu", kIos15, "x mode?", gelu},
    {"softmax", kIos15, "x axis?", softmax},
};

}  // namespace

const std::span<const OpRow> kActivationRows = kRows;

}  // namespace ec::mil
