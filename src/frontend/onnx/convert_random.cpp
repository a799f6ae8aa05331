// Random numbers and dropout.
#include <cmath>

#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

// Seeds are floats in ONNX; the bits tell them apart, also below 1.
int64_t seed(NodeContext& ctx) {
  if (!ctx.has_attr("seed")) return 0;
  const float value = ctx.attr_float("seed", 0.0f);
  if (std::nearbyint(value) == value && std::abs(value) < 1e9f) return static_cast<int64_t>(value);
  return static_cast<int64_t>(std::hash<float>{}(value) >> 1);
}

RandomNormalAttrs normal_attrs(NodeContext& ctx, DType dtype) {
  RandomNormalAttrs attrs;
  attrs.dtype = ctx.attr_dtype("dtype", dtype);
  attrs.mean = ctx.attr_float("mean", 0.0f);
  attrs.scale = ctx.attr_float("scale", 1.0f);
  attrs.seed = seed(ctx);
  return attrs;
}

RandomUniformAttrs uniform_attrs(NodeContext& ctx, DType dtype) {
  RandomUniformAttrs attrs;
  attrs.dtype = ctx.attr_dtype("dtype", dtype);
  attrs.low = ctx.attr_float("low", 0.0f);
  attrs.high = ctx.attr_float("high", 1.0f);
  attrs.seed = seed(ctx);
  return attrs;
}

Status need_shape(NodeContext& ctx) {
  if (ctx.has_attr("shape")) return {};
  return ctx.fail(Code::BadAttribute, "attribute 'shape' is missing");
}

Status random_normal(NodeContext& ctx) {
  EC_CHECK_OK(need_shape(ctx));
  return ctx.finish(OpKind::RandomNormal, {ctx.ints(ctx.attr_ints("shape"))},
                    normal_attrs(ctx, DType::F32));
}

Status random_uniform(NodeContext& ctx) {
  EC_CHECK_OK(need_shape(ctx));
  return ctx.finish(OpKind::RandomUniform, {ctx.ints(ctx.attr_ints("shape"))},
                    uniform_attrs(ctx, DType::F32));
}

Status random_normal_like(NodeContext& ctx) {
  EC_TRY(ec::Tensor * shape, ctx.add(OpKind::Shape, {ctx.in(0)}, ShapeAttrs{}));
  return ctx.finish(OpKind::RandomNormal, {shape}, normal_attrs(ctx, ctx.dtype()));
}

Status random_uniform_like(NodeContext& ctx) {
  EC_TRY(ec::Tensor * shape, ctx.add(OpKind::Shape, {ctx.in(0)}, ShapeAttrs{}));
  return ctx.finish(OpKind::RandomUniform, {shape}, uniform_attrs(ctx, ctx.dtype()));
}

Status bernoulli(NodeContext& ctx) {
  BernoulliAttrs attrs;
  attrs.dtype = ctx.attr_dtype("dtype", ctx.dtype());
  attrs.seed = seed(ctx);
  return ctx.finish(OpKind::Bernoulli, {ctx.in(0)}, attrs);
}

Status multinomial(NodeContext& ctx) {
  MultinomialAttrs attrs;
  attrs.dtype = ctx.attr_dtype("dtype", DType::I32);
  attrs.sample_size = ctx.attr_int("sample_size", 1);
  attrs.seed = seed(ctx);
  return ctx.finish(OpKind::Multinomial, {ctx.in(0)}, attrs);
}

// y = x; the mask, when asked for, keeps everything.
Status no_dropout(NodeContext& ctx, DType mask_type) {
  ctx.set(0, ctx.in(0));
  if (!ctx.wants(1)) return {};
  EC_TRY(ec::Tensor * shape, ctx.add(OpKind::Shape, {ctx.in(0)}, ShapeAttrs{}));
  EC_TRY(ec::Tensor * mask, ctx.add(OpKind::Fill, {shape, ctx.scalar(mask_type, 1.0)}));
  ctx.set(1, mask);
  return {};
}

// Before opset 12 a node does not say whether it trains; deployed models do not.
Status dropout_by_attribute(NodeContext& ctx) {
  for (const char* name : {"ratio", "is_test", "consumed_inputs"}) ctx.ignore_attr(name);
  return no_dropout(ctx, ctx.version() < 10 ? ctx.dtype() : DType::Bool);
}

Status dropout(NodeContext& ctx) {
  const int64_t number = ctx.attr_int("seed", 0);
  const bool off = ctx.in(2) == nullptr || NodeContext::known_scalar(ctx.in(2)) == 0.0;
  if (off) return no_dropout(ctx, DType::Bool);
  DropoutAttrs attrs;
  attrs.seed = number;
  return ctx.finish(OpKind::Dropout, ctx.tensors(), attrs);
}

constexpr Arity k0{0, 0}, k1{1, 1};

constexpr OpRow kRows[] = {
    {"RandomNormal", 1, kLatest, k0, k1, random_normal},
    {"RandomUniform", 1, kLatest, k0, k1, random_uniform},
    {"RandomNormalLike", 1, kLatest, k1, k1, random_normal_like},
    {"RandomUniformLike", 1, kLatest, k1, k1, random_uniform_like},
    {"Bernoulli", 15, kLatest, k1, k1, bernoulli},
    {"Multinomial", 7, kLatest, k1, k1, multinomial},
    {"Dropout", 1, 11, k1, {1, 2}, dropout_by_attribute},
    {"Dropout", 12, kLatest, {1, 3}, {1, 2}, dropout},
};

}  // namespace

const std::span<const OpRow> kRandomRows = kRows;

}  // namespace ec::onnx
