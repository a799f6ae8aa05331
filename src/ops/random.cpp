// Random tensors and dropout. Results depend on the seed alone: they are the numbers that numpy's
// RandomState gives for it.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/elementwise.h"
#include "support/random.h"

namespace ec::ops {
namespace {

RandomState state_of(int64_t seed) { return RandomState(static_cast<uint64_t>(seed)); }

// --- kernels ------------------------------------------------------------------------------------
Status random_uniform(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<RandomUniformAttrs>();
  RandomState random = state_of(attrs.seed);
  with_float_type(attrs.dtype, [&](auto c) {
    using C = decltype(c);
    const auto low = static_cast<C>(attrs.low), high = static_cast<C>(attrs.high);
    Writer<C> y(ctx.output(0));
    for (size_t i = 0; i < y.size(); ++i) {
      const C value = static_cast<C>(random.uniform()) * (high - low) + low;
      // Rounding must not reach the excluded end.
      y[i] = value == high ? std::nextafter(high, low) : value;
    }
    y.commit();
  });
  return {};
}

Status random_normal(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<RandomNormalAttrs>();
  RandomState random = state_of(attrs.seed);
  with_float_type(attrs.dtype, [&](auto c) {
    using C = decltype(c);
    Writer<C> y(ctx.output(0));
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<C>(random.normal()) * static_cast<C>(attrs.scale) +
             static_cast<C>(attrs.mean);
    y.commit();
  });
  return {};
}

Status bernoulli(KernelContext& ctx) {
  RandomState random = state_of(ctx.attrs<BernoulliAttrs>().seed);
  const Reader<double> x(ctx.input(0));
  std::vector<int64_t> draws(x.size());
  for (size_t i = 0; i < x.size(); ++i) draws[i] = random.bernoulli(x[i]) ? 1 : 0;
  store<int64_t>(ctx.output(0), draws);
  return {};
}

Status multinomial(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<MultinomialAttrs>();
  RandomState random = state_of(attrs.seed);
  const Reader<double> x(ctx.input(0));
  const auto batch = static_cast<size_t>(ctx.input(0).shape[0]);
  const auto classes = static_cast<size_t>(ctx.input(0).shape[1]);
  const auto samples = static_cast<size_t>(attrs.sample_size);
  if (batch == 0) return {};
  if (classes == 0) return ctx.fail("there are no classes to choose from");
  std::vector<int64_t> draws(batch * samples);
  std::vector<double> reach(classes);  // running sum of the probabilities
  for (size_t b = 0; b < batch; ++b) {
    const double* row = x.data() + b * classes;
    const double top = *std::max_element(row, row + classes);
    double sum = 0.0;
    for (size_t k = 0; k < classes; ++k) reach[k] = sum += std::exp(row[k] - top);
    for (size_t s = 0; s < samples; ++s) {
      const double at = random.uniform() * sum;
      const auto found = std::upper_bound(reach.begin(), reach.end(), at);
      const auto index = std::min(static_cast<size_t>(found - reach.begin()), classes - 1);
      draws[b * samples + s] = static_cast<int64_t>(index);
    }
  }
  store<int64_t>(ctx.output(0), draws);
  return {};
}

// --- dropout ------------------------------------------------------------------------------------
Result<double> dropout_ratio(const KernelContext& ctx) {
  const bool training = ctx.has(2) && ctx.input(2).count() == 1 && ctx.input(2).as<uint8_t>()[0];
  if (!training) return 0.0;
  const double ratio =
      ctx.has(1) && ctx.input(1).count() == 1 ? Reader<double>(ctx.input(1))[0] : 0.5;
  if (!(ratio >= 0.0 && ratio < 1.0))
    return ctx.fail("ratio is " + std::to_string(ratio) + "; it must be in [0, 1)");
  return ratio;
}

template <class C>
void drop(KernelContext& ctx, double ratio, std::span<const uint8_t> kept) {
  const Reader<C> in(ctx.input(0));
  Writer<C> out(ctx.output(0));
  const C scale = static_cast<C>(1.0 / (1.0 - ratio));
  for (size_t i = 0; i < in.size(); ++i) out[i] = kept[i] != 0 ? in[i] * scale : C{0};
  out.commit();
}

Status dropout(KernelContext& ctx) {
  EC_TRY(const double ratio, dropout_ratio(ctx));
  const ConstView& x = ctx.input(0);
  std::vector<uint8_t> kept(static_cast<size_t>(x.count()), 1);
  if (ratio == 0.0) {
    if (const size_t bytes = x.bytes(); bytes > 0) std::memcpy(ctx.output(0).data, x.data, bytes);
  } else {
    RandomState random = state_of(ctx.attrs<DropoutAttrs>().seed);
    for (uint8_t& keep : kept) keep = random.uniform() >= ratio ? 1 : 0;
    with_float_type(x.dtype, [&](auto c) { drop<decltype(c)>(ctx, ratio, kept); });
  }
  if (ctx.num_outputs() > 1)
    std::copy(kept.begin(), kept.end(), ctx.output(1).as<uint8_t>().begin());
  return {};
}

// --- inference
// ------------------------------------------------------------------------------------ A result
// shape from a list operand of sizes.
Result<std::optional<Shape>> shape_from_operand(const InferContext& ctx) {
  if (!is_integer(ctx.dtype(0)))
    return ctx.bad_type("shape is " + operand_text(ctx, 0) + "; it must be integers");
  if (ctx.shape(0) && ctx.shape(0)->rank() != 1)
    return ctx.bad_shape("shape is " + operand_text(ctx, 0) + "; it must be a list");
  if (const auto sizes = ctx.int_values(0)) {
    for (const int64_t size : *sizes)
      if (size < 0) return ctx.bad_value("size " + std::to_string(size) + " is negative");
    return std::optional(Shape::of(*sizes));
  }
  if (auto dims = ctx.dim_values(0)) return std::optional(Shape(std::move(*dims)));
  const auto rank = ctx.type(0).num_elements();
  if (!rank) return std::optional<Shape>{};
  if (*rank > rule::kAnyRank)
    return ctx.bad_value("shape has " + std::to_string(*rank) + " elements; tensors have at most " +
                         std::to_string(rule::kAnyRank) + " dimensions");
  return std::optional(Shape(std::vector<Dim>(static_cast<size_t>(*rank), Dim::unknown())));
}

template <class A>
Status infer_random(InferContext& ctx) {
  const DType dtype = ctx.attrs<A>().dtype;
  if (!is_float(dtype))
    return ctx.bad_type(std::string(dtype_name(dtype)) + " is not a floating point type");
  EC_TRY(std::optional<Shape> shape, shape_from_operand(ctx));
  ctx.set(0, dtype, std::move(shape));
  return {};
}

Status infer_bernoulli(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  ctx.set(0, ctx.attrs<BernoulliAttrs>().dtype, ctx.shape(0));
  return {};
}

Status infer_multinomial(InferContext& ctx) {
  const auto& attrs = ctx.attrs<MultinomialAttrs>();
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  if (attrs.dtype != DType::I32 && attrs.dtype != DType::I64)
    return ctx.bad_type(std::string(dtype_name(attrs.dtype)) + " is not i32 or i64");
  if (attrs.sample_size < 1)
    return ctx.bad_value("sample_size is " + std::to_string(attrs.sample_size) +
                         "; it must be positive");
  if (ctx.shape(0) && ctx.shape(0)->rank() != 2)
    return ctx.bad_shape("input " + operand_text(ctx, 0) + " must be [batch, classes]");
  const Dim batch = ctx.shape(0) ? (*ctx.shape(0))[0] : Dim::unknown();
  ctx.set(0, attrs.dtype, Shape{batch, attrs.sample_size});
  return {};
}

Status infer_dropout(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  if (ctx.has(1)) EC_CHECK_OK(check_type(ctx, 1, kFloats));
  if (ctx.has(2)) EC_CHECK_OK(check_type(ctx, 2, kBooleans));
  for (size_t i = 1; i < 3; ++i)
    if (ctx.has(i) && ctx.type(i).num_elements().value_or(1) != 1)
      return ctx.bad_shape("operand " + operand_text(ctx, i) + " must be a single value");
  EC_CHECK_OK(infer_same_as_first(ctx));
  if (ctx.num_outputs() > 1) ctx.set(1, DType::Bool, ctx.shape(0));
  return {};
}

}  // namespace

constexpr Rule kRandomUniformRules[] = {rule::integers("shape"), rule::rank("shape", 1),
                                        rule::not_negative("shape")};
EC_OP_DEF(RandomUniform, .signature = "(shape) -> y",
          .summary = "Uniform random numbers in [low, high), repeatable by seed.",
          .rules = kRandomUniformRules, .traits = {.random = true},
          .infer = infer_random<RandomUniformAttrs>, .reference = random_uniform,
          .layout = LayoutRule::Fixed);
EC_OP_DEF(RandomNormal, .signature = "(shape) -> y",
          .summary = "Normally distributed random numbers, repeatable by seed.",
          .rules = kRandomUniformRules, .traits = {.random = true},
          .infer = infer_random<RandomNormalAttrs>, .reference = random_normal,
          .layout = LayoutRule::Fixed);
EC_OP_DEF(Bernoulli, .signature = "(x) -> y",
          .summary = "1 with probability x, else 0, repeatable by seed.",
          .traits = {.random = true}, .infer = infer_bernoulli, .reference = bernoulli,
          .layout = LayoutRule::Fixed);
constexpr Rule kMultinomialRules[] = {rule::floats("x"), rule::rank("x", 2),
                                      rule::at_least("sample_size", 1)};
EC_OP_DEF(Multinomial, .signature = "(x) -> y",
          .summary =
              "Class indices drawn by the unnormalised log-probabilities of each row, "
              "repeatable by seed.",
          .rules = kMultinomialRules, .traits = {.random = true}, .infer = infer_multinomial,
          .reference = multinomial, .layout = LayoutRule::Fixed);
constexpr Rule kDropoutRules[] = {rule::floats("x"), rule::one_element("ratio"),
                                  rule::one_element("training")};
EC_OP_DEF(Dropout, .signature = "(x, ratio?, training?) -> (y, mask?)",
          .summary =
              "x itself, unless training: then elements are zeroed with probability ratio "
              "and the others scaled by 1 / (1 - ratio).",
          .rules = kDropoutRules, .traits = {.random = true}, .infer = infer_dropout,
          .reference = dropout, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
