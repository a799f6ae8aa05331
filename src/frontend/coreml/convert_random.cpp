// Random numbers. Their distributions are those of Core ML; the numbers themselves are not, since
// its generators are not published.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

int64_t seed_of(OpCall& c) { return std::max<int64_t>(c.integer("seed", -1), 0); }

Tensor* sizes_of(OpCall& c) { return c.as_i64(c.in("shape")); }

Tensors uniform(OpCall& c) {
  RandomUniformAttrs attrs;
  attrs.dtype = c.declared_dtype();
  attrs.low = static_cast<float>(c.number("low", 0));
  attrs.high = static_cast<float>(c.number("high", 1));
  attrs.seed = seed_of(c);
  return {c.add(OpKind::RandomUniform, {sizes_of(c)}, attrs)};
}

Tensors normal(OpCall& c) {
  RandomNormalAttrs attrs;
  attrs.dtype = c.declared_dtype();
  attrs.mean = static_cast<float>(c.number("mean", 0));
  attrs.scale = static_cast<float>(c.number("stddev", 1));
  attrs.seed = seed_of(c);
  return {c.add(OpKind::RandomNormal, {sizes_of(c)}, attrs)};
}

Tensors bernoulli(OpCall& c) {
  BernoulliAttrs attrs;
  attrs.dtype = c.declared_dtype();
  attrs.seed = seed_of(c);
  Tensor* chance = c.scalar(DType::F32, c.number("prob", 0.5));
  return {c.add(OpKind::Bernoulli, {c.add(OpKind::Fill, {sizes_of(c), chance})}, attrs)};
}

// Samples along the last dimension, by logarithms of chances.
Tensors categorical(OpCall& c) {
  Tensor* x = c.in("x");
  const int64_t dims = c.rank(x);
  MultinomialAttrs attrs;
  attrs.sample_size = c.integer("size", 1);
  attrs.seed = seed_of(c);
  if (dims < 1) return {c.fail(Code::ShapeMismatch, "the operand has no chances")};
  if (c.text("mode", "logits") == "probs") x = c.add(OpKind::Log, {x});
  Sizes result;
  for (int64_t i = 0; i + 1 < dims; ++i) result.emplace_back(x, i);
  result.emplace_back(attrs.sample_size);
  Tensor* rows = c.cast(c.reshape(x, {-1, Size(x, dims - 1)}), DType::F32);
  Tensor* y = c.reshape(c.add(OpKind::Multinomial, {rows}, attrs), result);
  return {c.cast(y, c.declared_dtype())};
}

constexpr OpRow kRows[] = {
    {"random_uniform", kIos15, "shape low? high? seed?", uniform},
    {"random_normal", kIos15, "shape mean? stddev? seed?", normal},
    {"random_bernoulli", kIos15, "shape prob? seed?", bernoulli},
    {"random_categorical", kIos15, "x mode? size? seed?", categorical},
};

}  // namespace

const std::span<const OpRow> kRandomRows = kRows;

}  // namespace ec::mil
