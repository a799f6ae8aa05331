// Activations as functions and as layers.
#include "frontend/keras/activation.h"

#include <algorithm>

#include "frontend/keras/table.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

template <OpKind kKind>
Tensor* simple(LayerCall& c, Tensor* x) {
  return c.add(kKind, {x});
}

Tensor* linear(LayerCall&, Tensor* x) { return x; }
Tensor* relu6(LayerCall& c, Tensor* x) { return c.clip(x, 0, 6); }
Tensor* softmax_last(LayerCall& c, Tensor* x) { return c.softmax(x, c.rank(x) - 1); }
Tensor* log_softmax_last(LayerCall& c, Tensor* x) {
  AxisAttrs attrs;
  attrs.axis = c.rank(x) - 1;
  return c.add(OpKind::LogSoftmax, {x}, attrs);
}
Tensor* silu(LayerCall& c, Tensor* x) { return c.add(OpKind::Silu, {x}, SiluAttrs{}); }
Tensor* gelu_exact(LayerCall& c, Tensor* x) { return gelu(c, x, false); }
Tensor* elu(LayerCall& c, Tensor* x) { return c.add(OpKind::Elu, {x}, AlphaAttrs{}); }
Tensor* celu(LayerCall& c, Tensor* x) { return c.add(OpKind::Celu, {x}, AlphaAttrs{}); }
Tensor* selu(LayerCall& c, Tensor* x) { return c.add(OpKind::Selu, {x}, SeluAttrs{}); }
Tensor* leaky(LayerCall& c, Tensor* x) { return leaky_relu(c, x, 0.2); }
// clip(0.2 x + 0.5) in Keras 2, relu6(x + 3) / 6 in Keras 3.
Tensor* hard_sigmoid(LayerCall& c, Tensor* x) {
  HardSigmoidAttrs attrs;
  attrs.alpha = c.keras_version() == 2 ? 0.2f : 1.0f / 6.0f;
  return c.add(OpKind::HardSigmoid, {x}, attrs);
}
Tensor* log_sigmoid(LayerCall& c, Tensor* x) {
  return c.add(OpKind::Neg, {c.add(OpKind::Softplus, {c.add(OpKind::Neg, {x})})});
}
Tensor* hard_tanh(LayerCall& c, Tensor* x) { return c.clip(x, -1, 1); }
Tensor* hard_shrink(LayerCall& c, Tensor* x) { return c.add(OpKind::Shrink, {x}, ShrinkAttrs{}); }
Tensor* soft_shrink(LayerCall& c, Tensor* x) {
  ShrinkAttrs attrs;
  attrs.bias = 0.5f;
  return c.add(OpKind::Shrink, {x}, attrs);
}
Tensor* tanh_shrink(LayerCall& c, Tensor* x) { return c.minus(x, c.add(OpKind::Tanh, {x})); }
Tensor* squareplus_four(LayerCall& c, Tensor* x) { return squareplus(c, x, 4); }
Tensor* glu_last(LayerCall& c, Tensor* x) { return glu(c, x, c.rank(x) - 1); }
Tensor* sparsemax_last(LayerCall& c, Tensor* x) { return sparsemax(c, x, c.rank(x) - 1); }
// 0 below -1, x above 1, a parabola between.
Tensor* sparse_plus(LayerCall& c, Tensor* x) {
  Tensor* near = c.clip(x, -1, 1);
  Tensor* rise = c.plus(near, 1);
  return c.plus(c.times(c.times(rise, rise), 0.25), c.add(OpKind::Relu, {c.minus(x, 1)}));
}
Tensor* sparse_sigmoid(LayerCall& c, Tensor* x) {
  HardSigmoidAttrs attrs;
  attrs.alpha = 0.5f;
  return c.add(OpKind::HardSigmoid, {x}, attrs);
}

struct Named {
  std::string_view name;
  ActivationFn apply;
};
constexpr Named kActivations[] = {
    {"linear", linear},
    {"relu", simple<OpKind::Relu>},
    {"relu6", relu6},
    {"sigmoid", simple<OpKind::Sigmoid>},
    {"tanh", simple<OpKind::Tanh>},
    {"softmax", softmax_last},
    {"log_softmax", log_softmax_last},
    {"softplus", simple<OpKind::Softplus>},
    {"softsign", simple<OpKind::Softsign>},
    {"swish", silu},
    {"silu", silu},
    {"gelu", gelu_exact},
    {"elu", elu},
    {"celu", celu},
    {"selu", selu},
    {"exponential", simple<OpKind::Exp>},
    {"leaky_relu", leaky},
    {"mish", simple<OpKind::Mish>},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_silu", simple<OpKind::HardSwish>},
    {"hard_swish", simple<OpKind::HardSwish>},
    {"log_sigmoid", log_sigmoid},
    {"hard_tanh", hard_tanh},
    {"hard_shrink", hard_shrink},
    {"soft_shrink", soft_shrink},
    {"tanh_shrink", tanh_shrink},
    {"squareplus", squareplus_four},
    {"glu", glu_last},
    {"sparsemax", sparsemax_last},
    {"sparse_plus", sparse_plus},
    {"sparse_sigmoid", sparse_sigmoid},
    {"NoOpActivation", linear},
};

// --- layers --------------------------------------------------------------------------------------

Value activation_layer(LayerCall& c) { return c.activate(c.float_x()); }

Value relu_layer(LayerCall& c) {
  std::optional<double> max;
  if (c.has("max_value")) max = c.number("max_value", 0);
  return general_relu(c, c.float_x(), c.number("negative_slope", 0), max, c.number("threshold", 0));
}

Value leaky_relu_layer(LayerCall& c) {
  return leaky_relu(c, c.float_x(), c.number("negative_slope", c.number("alpha", 0.3)));
}

Value elu_layer(LayerCall& c) {
  AlphaAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha", 1));
  return c.add(OpKind::Elu, {c.float_x()}, attrs);
}

// x above theta, else 0 (Keras 2).
Value thresholded_relu_layer(LayerCall& c) {
  AlphaAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("theta", 1));
  return c.add(OpKind::ThresholdedRelu, {c.float_x()}, attrs);
}

Value prelu_layer(LayerCall& c) {
  Tensor* x = c.float_x();
  c.variables({"alpha"});
  return c.add(OpKind::Prelu, {x, c.unsqueeze(c.weight("alpha"), {0})});
}

Value softmax_layer(LayerCall& c) {
  Tensor* x = c.float_x();
  const Ints axes = c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x));
  const Value& given = c.arg(1, "mask");
  Tensor* mask = given.is_tensor() ? given.as_tensor() : nullptr;
  if (mask == nullptr && given.is_none()) mask = c.arg(0, "inputs").mask();
  if (mask == nullptr) return softmax_over(c, x, axes);
  if (mask->dtype() != DType::Bool)
    mask = c.add(OpKind::Greater, {c.to_float(mask), c.scalar(DType::F32, 0.5)});
  Tensor* y = softmax_over(c, c.where(mask, x, c.like(x, -3e38)), axes);
  return c.where(mask, y, c.like(x, 0));
}

constexpr LayerRow kRows[] = {
    {"Activation", activation_layer, MaskRule::Pass},
    {"ReLU", relu_layer, MaskRule::Pass},
    {"LeakyReLU", leaky_relu_layer, MaskRule::Pass},
    {"ELU", elu_layer, MaskRule::Pass},
    {"ThresholdedReLU", thresholded_relu_layer, MaskRule::Pass},
    {"PReLU", prelu_layer, MaskRule::Pass},
    {"Softmax", softmax_layer, MaskRule::Pass},
};

}  // namespace

ActivationFn find_activation(std::string_view name) {
  const auto found = std::ranges::find(kActivations, name, &Named::name);
  return found == std::end(kActivations) ? nullptr : found->apply;
}

std::string activation_name(const Value& spec) {
  if (spec.is_none()) return "linear";
  if (spec.is_text()) return spec.as_text();
  if (spec.is_dict() && spec["config"].is_text()) return spec["config"].as_text();
  // A function without arguments that is serialised as an object.
  if (spec.is_dict() && find_activation(spec["class_name"].as_text()) != nullptr)
    return spec["class_name"].as_text();
  return {};
}

Tensor* activation(LayerCall& c, const Value& spec, Tensor* x) {
  const std::string name = activation_name(spec);
  if (!name.empty()) {
    if (const ActivationFn apply = find_activation(name)) return apply(c, x);
    return c.unsupported("activation '" + printable(name) + "'");
  }
  const LayerConfig inner = read_layer(spec);
  // tfmot puts the activation inside an object of its own.
  if (inner.class_name == "QuantizeAwareActivation")
    return activation(c, inner.config["activation"], x);
  if (find_layer(inner.class_name) == nullptr)
    return c.unsupported("activation of class '" + printable(inner.class_name) + "'");
  auto weights = c.weights().child("activation", inner.name);
  if (!weights.ok()) return c.remember(std::move(weights).error()), x;
  return c.call_one(inner, *weights, x);
}

Tensor* leaky_relu(LayerCall& c, Tensor* x, double slope) {
  LeakyReluAttrs attrs;
  attrs.alpha = static_cast<float>(slope);
  return c.add(OpKind::LeakyRelu, {x}, attrs);
}

Tensor* general_relu(LayerCall& c, Tensor* x, double slope, std::optional<double> max,
                     double threshold) {
  if (threshold == 0) {
    if (slope == 0 && max) return c.clip(x, 0, *max);
    if (slope == 0) return c.add(OpKind::Relu, {x});
    Tensor* y = leaky_relu(c, x, slope);
    return max ? c.clip(y, std::nullopt, *max) : y;
  }
  // slope * (x - threshold) below the threshold, x above it, max at most.
  Tensor* above = c.add(OpKind::Greater, {x, c.like(x, threshold)});
  Tensor* high = max ? c.clip(x, 0, *max) : x;
  Tensor* low = c.times(c.minus(x, threshold), slope);
  return c.where(above, high, slope == 0 ? c.like(x, 0) : low);
}

Tensor* gelu(LayerCall& c, Tensor* x, bool approximate) {
  GeluAttrs attrs;
  attrs.form = approximate ? GeluForm::Tanh : GeluForm::Exact;
  return c.add(OpKind::Gelu, {x}, attrs);
}

Tensor* glu(LayerCall& c, Tensor* x, int64_t axis) {
  const Tensors halves = c.split(x, axis, 2);
  return c.times(halves[0], c.add(OpKind::Sigmoid, {halves.back()}));
}

Tensor* squareplus(LayerCall& c, Tensor* x, double b) {
  return c.times(c.plus(x, c.add(OpKind::Sqrt, {c.plus(c.times(x, x), b)})), 0.5);
}

Tensor* softmax_over(LayerCall& c, Tensor* x, const Ints& axes) {
  if (axes.size() == 1) return c.softmax(x, axes.front());
  Tensor* sum = c.reduce(OpKind::ReduceLogSumExp, x, axes, true);
  return c.add(OpKind::Exp, {c.minus(x, sum)});
}

// max(0, x - tau), tau from the sorted values. The projection onto the simplex takes the last of
// the running sums where they are inside; Keras takes the sum of them all, and its models are
// trained so.
Tensor* sparsemax(LayerCall& c, Tensor* x, int64_t axis) {
  const int64_t count = c.size(x, axis), rank = c.rank(x);
  TopKAttrs top;
  top.axis = axis;
  Tensor* sorted = c.add_many(OpKind::TopK, {x, c.int_list({count})}, top, 2).front();
  Tensor* sums = c.add(OpKind::CumSum, {sorted, c.scalar(DType::I64, static_cast<double>(axis))},
                       CumulativeAttrs{});
  if (!c.afford(count)) return x;
  std::vector<float> numbers;
  for (int64_t i = 1; i <= count; ++i) numbers.push_back(static_cast<float>(i));
  Tensor* k = c.reshape(c.floats(Shape{Dim(count)}, numbers), c.along(rank, axis, count));
  // The largest k with 1 + k * sorted[k] > sums[k].
  Tensor* inside = c.add(OpKind::Greater, {c.plus(c.times(sorted, k), 1), sums});
  Tensor* weight = c.cast(inside, x->dtype());
  Tensor* size = c.reduce(OpKind::ReduceSum, weight, {axis}, true);
  Tensor* sum = c.reduce(OpKind::ReduceSum, c.times(sums, weight), {axis}, true);
  Tensor* tau = c.over(c.minus(sum, 1), size);
  return c.add(OpKind::Relu, {c.minus(x, tau)});
}

const std::span<const LayerRow> kActivationRows = kRows;

}  // namespace ec::keras
