// Batch, layer, group, root-mean-square, unit and spectral normalisation.
#include "frontend/keras/normalization.h"

#include <algorithm>

#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

Tensor* constant_vector(LayerCall& c, int64_t count, float value) {
  if (!c.afford(count)) return c.fail(Code::TooLarge, "a size is out of range");
  return c.floats(Shape{Dim(count)}, std::vector<float>(static_cast<size_t>(count), value));
}

// A tensor with the sizes of some axes, ready to broadcast against x.
Tensor* along(LayerCall& c, Tensor* parameter, Tensor* x, const Ints& axes) {
  Sizes shape;
  for (int64_t i = 0, n = c.rank(x); i < n; ++i) {
    const bool own = std::ranges::find(axes, i) != axes.end();
    shape.emplace_back(own ? c.size(x, i) : 1);
  }
  return c.reshape(parameter, shape);
}

bool is_trailing(const Ints& axes, int64_t rank) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank - static_cast<int64_t>(axes.size()) + static_cast<int64_t>(i)) return false;
  return !axes.empty();
}

Value batch_normalization(LayerCall& c) {
  Tensor* x = c.float_x();
  Names names;
  const bool scale = c.flag("scale", true), center = c.flag("center", true);
  if (scale) names.emplace_back("gamma");
  if (center) names.emplace_back("beta");
  names.insert(names.end(), {"moving_mean", "moving_variance"});
  c.variables(names);
  const Ints axes = c.has("axis") ? c.ints("axis") : Ints{-1};
  if (axes.size() != 1) return c.unsupported("batch normalisation of several axes");
  return batch_norm(c, x, c.axis(axes.front(), c.rank(x)), c.weight("moving_mean"),
                    c.weight("moving_variance"), scale ? c.weight("gamma") : nullptr,
                    center ? c.weight("beta") : nullptr, c.number("epsilon", 1e-3));
}

Value layer_normalization(LayerCall& c) {
  Tensor* x = c.float_x();
  const bool rms = c.flag("rms_scaling", false);
  const bool scale = c.flag("scale", true) || rms, center = c.flag("center", true) && !rms;
  Names names;
  if (scale) names.emplace_back("gamma");
  if (center) names.emplace_back("beta");
  c.variables(names);
  const Ints axes = c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x));
  Tensor* gamma = scale ? c.weight("gamma") : nullptr;
  const double epsilon = c.number("epsilon", 1e-3);
  if (!rms) return layer_norm(c, x, axes, gamma, center ? c.weight("beta") : nullptr, epsilon);
  // The old option scales by the variance and does not move the mean.
  Tensor* mean = c.reduce(OpKind::ReduceMean, x, axes, true);
  Tensor* variance =
      c.reduce(OpKind::ReduceMean, c.add(OpKind::SquaredDifference, {x, mean}), axes, true);
  Tensor* inverse = c.add(OpKind::Rsqrt, {c.plus(variance, epsilon)});
  return c.times(c.times(x, inverse), along(c, gamma, x, axes));
}

Value group_normalization(LayerCall& c) {
  Tensor* x = c.float_x();
  const bool scale = c.flag("scale", true), center = c.flag("center", true);
  Names names;
  if (scale) names.emplace_back("gamma");
  if (center) names.emplace_back("beta");
  c.variables(names);
  const int64_t rank = c.rank(x), axis = c.axis(c.integer("axis", -1), rank);
  const int64_t channels = c.size(x, axis);
  if (!c.ok()) return x;
  int64_t groups = c.integer("groups", 32);
  if (groups == -1) groups = channels;
  if (groups < 1 || channels % groups != 0)
    return c.fail(Code::ShapeMismatch, std::to_string(groups) + " groups do not divide " +
                                           std::to_string(channels) + " channels");
  GroupNormAttrs attrs;
  attrs.groups = groups;
  attrs.epsilon = static_cast<float>(c.number("epsilon", 1e-3));
  Tensor* gamma = scale ? c.weight("gamma") : constant_vector(c, channels, 1);
  Tensor* beta = center ? c.weight("beta") : constant_vector(c, channels, 0);
  if (axis == rank - 1 || axis == 1) {
    attrs.layout = axis == rank - 1 ? Layout::ChannelsLast : Layout::ChannelsFirst;
    return c.add(OpKind::GroupNorm, {x, gamma, beta}, attrs);
  }
  // Another axis goes last and comes back.
  Ints there, back(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) there.push_back(i);
  there.push_back(axis);
  for (size_t i = 0; i < there.size(); ++i) c.set(back, there[i], static_cast<int64_t>(i));
  attrs.layout = Layout::ChannelsLast;
  Tensor* y = c.add(OpKind::GroupNorm, {c.transpose(x, there), gamma, beta}, attrs);
  return c.transpose(y, back);
}

Value rms_normalization(LayerCall& c) {
  Tensor* x = c.float_x();
  c.variables({"scale"});
  const Ints axes = c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x));
  return rms_norm(c, x, axes, c.weight("scale"), c.number("epsilon", 1e-6));
}

Value unit_normalization(LayerCall& c) {
  Tensor* x = c.float_x();
  return l2_normalize(c, x, c.axes(c.has("axis") ? c.ints("axis") : Ints{-1}, c.rank(x)), 1e-12);
}

// The wrapped layer's kernel was divided by its largest singular value while training.
Value spectral_normalization(LayerCall& c) {
  const LayerConfig inner = read_layer(c.config("layer"));
  auto weights = c.weights().child("layer", inner.name);
  if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
  return c.call(inner, *weights, c.args(), c.kwargs());
}

constexpr LayerRow kRows[] = {
    {"BatchNormalization", batch_normalization, MaskRule::Pass},
    {"BatchNormalizationV1", batch_normalization, MaskRule::Pass},
    {"BatchNormalizationV2", batch_normalization, MaskRule::Pass},
    {"SyncBatchNormalization", batch_normalization, MaskRule::Pass},
    {"LayerNormalization", layer_normalization, MaskRule::Pass},
    {"GroupNormalization", group_normalization, MaskRule::Pass},
    {"RMSNormalization", rms_normalization, MaskRule::Pass},
    {"UnitNormalization", unit_normalization, MaskRule::Pass},
    {"SpectralNormalization", spectral_normalization, MaskRule::Pass},
};

}  // namespace

Tensor* batch_norm(LayerCall& c, Tensor* x, int64_t axis, Tensor* mean, Tensor* variance,
                   Tensor* gamma, Tensor* beta, double epsilon) {
  const int64_t rank = c.rank(x);
  const int64_t channels = c.size(x, axis);
  if (!c.ok()) return x;
  if (gamma == nullptr) gamma = constant_vector(c, channels, 1);
  if (beta == nullptr) beta = constant_vector(c, channels, 0);
  if (rank >= 2 && (axis == rank - 1 || axis == 1)) {
    BatchNormAttrs attrs;
    attrs.epsilon = static_cast<float>(epsilon);
    attrs.layout = axis == rank - 1 ? Layout::ChannelsLast : Layout::ChannelsFirst;
    return c.add(OpKind::BatchNorm, {x, gamma, beta, mean, variance}, attrs);
  }
  Tensor* scale = c.add_weight(
      OpKind::Div,
      {gamma, c.add_weight(OpKind::Sqrt,
                           {c.add_weight(OpKind::Add, {variance, c.like(variance, epsilon)})})});
  Tensor* shift = c.add_weight(OpKind::Sub, {beta, c.add_weight(OpKind::Mul, {mean, scale})});
  return c.plus(c.times(x, along(c, scale, x, {axis})), along(c, shift, x, {axis}));
}

Tensor* layer_norm(LayerCall& c, Tensor* x, const Ints& axes, Tensor* gamma, Tensor* beta,
                   double epsilon) {
  const int64_t rank = c.rank(x);
  if (is_trailing(axes, rank)) {
    LayerNormAttrs attrs;
    attrs.axis = axes.front();
    attrs.epsilon = static_cast<float>(epsilon);
    Ints sizes;
    for (const int64_t a : axes) sizes.push_back(c.size(x, a));
    Tensors operands = {x};
    const Sizes shape(sizes.begin(), sizes.end());
    if (gamma != nullptr || beta != nullptr) {
      int64_t count = 1;
      for (const int64_t n : sizes) count = c.product(count, n);
      operands.push_back(c.reshape(gamma != nullptr ? gamma : constant_vector(c, count, 1), shape));
    }
    if (beta != nullptr) operands.push_back(c.reshape(beta, shape));
    return c.add(OpKind::LayerNorm, std::move(operands), attrs);
  }
  Tensor* mean = c.reduce(OpKind::ReduceMean, x, axes, true);
  Tensor* variance =
      c.reduce(OpKind::ReduceMean, c.add(OpKind::SquaredDifference, {x, mean}), axes, true);
  Tensor* y = c.times(c.minus(x, mean), c.add(OpKind::Rsqrt, {c.plus(variance, epsilon)}));
  if (gamma != nullptr) y = c.times(y, along(c, gamma, x, axes));
  if (beta != nullptr) y = c.plus(y, along(c, beta, x, axes));
  return y;
}

Tensor* rms_norm(LayerCall& c, Tensor* x, const Ints& axes, Tensor* scale, double epsilon) {
  if (is_trailing(axes, c.rank(x)) && axes.size() == 1 && scale != nullptr) {
    LayerNormAttrs attrs;
    attrs.axis = axes.front();
    attrs.epsilon = static_cast<float>(epsilon);
    return c.add(OpKind::RmsNorm, {x, scale}, attrs);
  }
  Tensor* square = c.reduce(OpKind::ReduceMean, c.times(x, x), axes, true);
  Tensor* y = c.times(x, c.add(OpKind::Rsqrt, {c.plus(square, epsilon)}));
  return scale == nullptr ? y : c.times(y, scale);
}

Tensor* l2_normalize(LayerCall& c, Tensor* x, const Ints& axes, double epsilon) {
  Tensor* square = c.reduce(OpKind::ReduceSum, c.times(x, x), axes, true);
  return c.times(x, c.add(OpKind::Rsqrt, {c.add(OpKind::Max, {square, c.like(x, epsilon)})}));
}

const std::span<const LayerRow> kNormalizationRows = kRows;

}  // namespace ec::keras
