// Normalisation.
#include <numeric>

#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

// A parameter for each channel; all the same number where it is absent.
Tensor* channel_values(OpCall& c, std::string_view parameter, Tensor* x, float otherwise) {
  if (c.has(parameter)) return c.like_type(parameter, x);
  const int64_t channels = c.size(x, 1);
  if (!c.ok() || !c.afford(channels)) return x;
  const std::vector<float> values(static_cast<size_t>(channels), otherwise);
  return c.cast(c.floats(Shape{channels}, values), x->dtype());
}

Tensors batch_norm(OpCall& c) {
  Tensor* x = c.in("x");
  BatchNormAttrs attrs;
  attrs.epsilon = static_cast<float>(c.number("epsilon", 1e-5));
  return {c.add(OpKind::BatchNorm,
                {x, channel_values(c, "gamma", x, 1), channel_values(c, "beta", x, 0),
                 c.like_type("mean", x), c.like_type("variance", x)},
                attrs)};
}

Tensors instance_norm(OpCall& c) {
  Tensor* x = c.in("x");
  InstanceNormAttrs attrs;
  attrs.epsilon = static_cast<float>(c.number("epsilon", 1e-5));
  return {c.add(OpKind::InstanceNorm,
                {x, channel_values(c, "gamma", x, 1), channel_values(c, "beta", x, 0)}, attrs)};
}

Tensors layer_norm(OpCall& c) {
  Tensor* x = c.in("x");
  const Ints axes = c.axes_of(x, "axes");
  const int64_t dims = c.rank(x);
  if (!c.ok() || axes.empty()) return {c.fail(Code::BadValue, "'axes' are missing")};
  LayerNormAttrs attrs;
  attrs.epsilon = static_cast<float>(c.number("epsilon", 1e-5));
  attrs.axis = dims - static_cast<int64_t>(axes.size());
  // Other axes than the last go there and back.
  Ints perm;
  for (int64_t i = 0; i < dims; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) perm.push_back(i);
  perm.insert(perm.end(), axes.begin(), axes.end());
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  Tensors inputs = {c.transpose(x, perm)};
  Tensor *gamma = c.like_type("gamma", x), *beta = c.like_type("beta", x);
  if (gamma != nullptr || beta != nullptr) inputs.push_back(gamma);
  if (beta != nullptr) inputs.push_back(beta);
  return {c.transpose(c.add(OpKind::LayerNorm, std::move(inputs), attrs), back)};
}

// Over the last three dimensions together.
Tensors l2_norm(OpCall& c) {
  Tensor* x = c.in("x");
  const int64_t dims = c.rank(x);
  if (dims < 3) return {c.fail(Code::ShapeMismatch, "l2_norm needs three dimensions or more")};
  Tensor* sum = c.reduce(OpKind::ReduceSumSquare, x, {dims - 3, dims - 2, dims - 1}, true);
  sum = c.plus(sum, c.number("epsilon", 1e-6));
  return {c.over(x, c.add(OpKind::Sqrt, {sum}))};
}

Tensors local_response_norm(OpCall& c) {
  LrnAttrs attrs;
  attrs.size = c.integer("size");
  attrs.alpha = static_cast<float>(c.number("alpha", 1e-4));
  attrs.beta = static_cast<float>(c.number("beta", 0.75));
  attrs.bias = static_cast<float>(c.number("k", 1));
  return {c.add(OpKind::Lrn, {c.in("x")}, attrs)};
}

constexpr OpRow kRows[] = {
    {"batch_norm", kIos15, "x mean variance gamma? beta? epsilon?", batch_norm},
    {"instance_norm", kIos15, "x gamma? beta? epsilon?", instance_norm},
    {"layer_norm", kIos15, "x axes? gamma? beta? epsilon?", layer_norm},
    {"l2_norm", kIos15, "x epsilon?", l2_norm},
    {"local_response_norm", kIos15, "x size alpha? beta? k?", local_response_norm},
};

}  // namespace

const std::span<const OpRow> kNormRows = kRows;

}  // namespace ec::mil
