// Element-wise arithmetic, comparison, logic and casts.
#include "formats/onnx/tensor_data.h"
#include "frontend/onnx/broadcast.h"
#include "frontend/onnx/table.h"
#include "frontend/onnx/types.h"

namespace ec::onnx {
namespace {

Status identity(NodeContext& ctx) {
  ctx.set(0, ctx.binding(0));
  return {};
}

// Before opset 7: no broadcasting unless asked for, then of B along A's dimensions from `axis`.
template <OpKind kKind>
Status legacy_binary(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  EC_TRY(ec::Tensor * b, legacy_broadcast(ctx, ctx.in(0), ctx.in(1)));
  return ctx.finish(kKind, {ctx.in(0), b});
}

// Opset 1 lists in `consumed_inputs` what may be overwritten: no meaning here.
template <OpKind kKind>
Status legacy_unary(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  return ctx.finish(kKind, ctx.tensors());
}

// f(f(a, b), c)...
template <OpKind kKind>
Status variadic(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  ec::Tensor* result = ctx.in(0);
  for (size_t i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
    EC_TRY(result, ctx.add(kKind, {result, ctx.in(i)}));
  }
  ctx.set(0, result);
  return {};
}

Status mean(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  ec::Tensor* sum = ctx.in(0);
  for (size_t i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
    EC_TRY(sum, ctx.add(OpKind::Add, {sum, ctx.in(i)}));
  }
  const auto count = static_cast<double>(ctx.num_inputs());
  return ctx.finish(OpKind::Div, {sum, ctx.scalar(sum->dtype(), count)});
}

Status is_inf(NodeContext& ctx) {
  IsInfAttrs attrs;
  attrs.detect_negative = ctx.attr_bool("detect_negative", true);
  attrs.detect_positive = ctx.attr_bool("detect_positive", true);
  return ctx.finish(OpKind::IsInf, {ctx.in(0)}, attrs);
}

Status cast(NodeContext& ctx) {
  CastAttrs attrs;
  attrs.to = ctx.attr_dtype("to");
  attrs.saturate = ctx.attr_bool("saturate", true);
  attrs.round_mode = ctx.attr_string("round_mode", "up");
  return ctx.finish(OpKind::Cast, {ctx.in(0)}, attrs);
}

// The first operator set names the type by text.
Status cast_by_name(NodeContext& ctx) {
  const std::string name = ctx.attr_string("to", "");
  CastAttrs attrs;
  for (int32_t i = 1; i <= static_cast<int32_t>(DataType::Int2); ++i) {
    const auto type = static_cast<DataType>(i);
    if (data_type_name(type) != name) continue;
    EC_TRY(attrs.to, dtype_of_number(i));
    return ctx.finish(OpKind::Cast, {ctx.in(0)}, attrs);
  }
  return ctx.fail(Code::BadAttribute, "attribute 'to' names no element type");
}

Status cast_like(NodeContext& ctx) {
  CastAttrs attrs;
  attrs.to = ctx.dtype(1);
  attrs.saturate = ctx.attr_bool("saturate", true);
  attrs.round_mode = ctx.attr_string("round_mode", "up");
  return ctx.finish(OpKind::Cast, {ctx.in(0)}, attrs);
}

Status bit_cast(NodeContext& ctx) {
  BitCastAttrs attrs;
  attrs.to = ctx.attr_dtype("to");
  return ctx.finish(OpKind::BitCast, {ctx.in(0)}, attrs);
}

Status mod(NodeContext& ctx) {
  ModAttrs attrs;
  attrs.fmod = ctx.attr_bool("fmod", false);
  return ctx.finish(OpKind::Mod, ctx.tensors(), attrs);
}

Status bit_shift(NodeContext& ctx) {
  constexpr std::string_view kDirections[] = {"LEFT", "RIGHT"};
  BitShiftAttrs attrs;
  attrs.left = ctx.attr_choice("direction", kDirections, 0) == 0;
  return ctx.finish(OpKind::BitShift, ctx.tensors(), attrs);
}

Status clip_by_attributes(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  ec::Tensor* low = nullptr;
  ec::Tensor* high = nullptr;
  if (ctx.has_attr("min")) low = ctx.scalar(ctx.dtype(), ctx.attr_float("min", 0));
  if (ctx.has_attr("max")) high = ctx.scalar(ctx.dtype(), ctx.attr_float("max", 0));
  return ctx.finish(OpKind::Clip, {ctx.in(0), low, high});
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, kAny{1, kMany};

constexpr OpRow kRows[] = {
    {"Identity", 1, kLatest, k1, k1, identity, true},
    {"Abs", 1, 5, k1, k1, legacy_unary<OpKind::Abs>},
    {"Abs", 6, kLatest, k1, k1, direct<OpKind::Abs>},
    {"Neg", 1, 5, k1, k1, legacy_unary<OpKind::Neg>},
    {"Neg", 6, kLatest, k1, k1, direct<OpKind::Neg>},
    {"Exp", 1, 5, k1, k1, legacy_unary<OpKind::Exp>},
    {"Exp", 6, kLatest, k1, k1, direct<OpKind::Exp>},
    {"Log", 1, 5, k1, k1, legacy_unary<OpKind::Log>},
    {"Log", 6, kLatest, k1, k1, direct<OpKind::Log>},
    {"Sqrt", 1, 5, k1, k1, legacy_unary<OpKind::Sqrt>},
    {"Sqrt", 6, kLatest, k1, k1, direct<OpKind::Sqrt>},
    {"Reciprocal", 1, 5, k1, k1, legacy_unary<OpKind::Reciprocal>},
    {"Reciprocal", 6, kLatest, k1, k1, direct<OpKind::Reciprocal>},
    {"Floor", 1, 5, k1, k1, legacy_unary<OpKind::Floor>},
    {"Floor", 6, kLatest, k1, k1, direct<OpKind::Floor>},
    {"Ceil", 1, 5, k1, k1, legacy_unary<OpKind::Ceil>},
    {"Ceil", 6, kLatest, k1, k1, direct<OpKind::Ceil>},
    {"Round", 11, kLatest, k1, k1, direct<OpKind::Round>},
    {"Sign", 9, kLatest, k1, k1, direct<OpKind::Sign>},
    {"Sin", 7, kLatest, k1, k1, direct<OpKind::Sin>},
    {"Cos", 7, kLatest, k1, k1, direct<OpKind::Cos>},
    {"Tan", 7, kLatest, k1, k1, direct<OpKind::Tan>},
    {"Asin", 7, kLatest, k1, k1, direct<OpKind::Asin>},
    {"Acos", 7, kLatest, k1, k1, direct<OpKind::Acos>},
    {"Atan", 7, kLatest, k1, k1, direct<OpKind::Atan>},
    {"Sinh", 9, kLatest, k1, k1, direct<OpKind::Sinh>},
    {"Cosh", 9, kLatest, k1, k1, direct<OpKind::Cosh>},
    {"Asinh", 9, kLatest, k1, k1, direct<OpKind::Asinh>},
    {"Acosh", 9, kLatest, k1, k1, direct<OpKind::Acosh>},
    {"Atanh", 9, kLatest, k1, k1, direct<OpKind::Atanh>},
    {"Erf", 9, kLatest, k1, k1, direct<OpKind::Erf>},
    {"Not", 1, kLatest, k1, k1, direct<OpKind::Not>},
    {"BitwiseNot", 18, kLatest, k1, k1, direct<OpKind::BitwiseNot>},
    {"IsNaN", 9, kLatest, k1, k1, direct<OpKind::IsNan>},
    {"IsInf", 10, kLatest, k1, k1, is_inf},
    {"Cast", 1, 5, k1, k1, cast_by_name},
    {"Cast", 6, kLatest, k1, k1, cast},
    {"CastLike", 15, kLatest, k2, k1, cast_like},
    {"BitCast", 26, kLatest, k1, k1, bit_cast},

    {"Add", 1, 6, k2, k1, legacy_binary<OpKind::Add>},
    {"Add", 7, kLatest, k2, k1, direct<OpKind::Add>},
    {"Sub", 1, 6, k2, k1, legacy_binary<OpKind::Sub>},
    {"Sub", 7, kLatest, k2, k1, direct<OpKind::Sub>},
    {"Mul", 1, 6, k2, k1, legacy_binary<OpKind::Mul>},
    {"Mul", 7, kLatest, k2, k1, direct<OpKind::Mul>},
    {"Div", 1, 6, k2, k1, legacy_binary<OpKind::Div>},
    {"Div", 7, kLatest, k2, k1, direct<OpKind::Div>},
    {"Pow", 1, 6, k2, k1, legacy_binary<OpKind::Pow>},
    {"Pow", 7, kLatest, k2, k1, direct<OpKind::Pow>},
    {"Mod", 10, kLatest, k2, k1, mod},
    {"Max", 1, kLatest, kAny, k1, variadic<OpKind::Max>},
    {"Min", 1, kLatest, kAny, k1, variadic<OpKind::Min>},
    {"Sum", 1, kLatest, kAny, k1, variadic<OpKind::Add>},
    {"Mean", 1, kLatest, kAny, k1, mean},
    {"And", 1, 6, k2, k1, legacy_binary<OpKind::And>},
    {"And", 7, kLatest, k2, k1, direct<OpKind::And>},
    {"Or", 1, 6, k2, k1, legacy_binary<OpKind::Or>},
    {"Or", 7, kLatest, k2, k1, direct<OpKind::Or>},
    {"Xor", 1, 6, k2, k1, legacy_binary<OpKind::Xor>},
    {"Xor", 7, kLatest, k2, k1, direct<OpKind::Xor>},
    {"BitwiseAnd", 18, kLatest, k2, k1, direct<OpKind::BitwiseAnd>},
    {"BitwiseOr", 18, kLatest, k2, k1, direct<OpKind::BitwiseOr>},
    {"BitwiseXor", 18, kLatest, k2, k1, direct<OpKind::BitwiseXor>},
    {"BitShift", 11, kLatest, k2, k1, bit_shift},
    {"Equal", 1, 6, k2, k1, legacy_binary<OpKind::Equal>},
    {"Equal", 7, kLatest, k2, k1, direct<OpKind::Equal>},
    {"Less", 1, 6, k2, k1, legacy_binary<OpKind::Less>},
    {"Less", 7, kLatest, k2, k1, direct<OpKind::Less>},
    {"LessOrEqual", 12, kLatest, k2, k1, direct<OpKind::LessOrEqual>},
    {"Greater", 1, 6, k2, k1, legacy_binary<OpKind::Greater>},
    {"Greater", 7, kLatest, k2, k1, direct<OpKind::Greater>},
    {"GreaterOrEqual", 12, kLatest, k2, k1, direct<OpKind::GreaterOrEqual>},
    {"Where", 9, kLatest, k3, k1, direct<OpKind::Where>},
    {"Clip", 1, 10, k1, k1, clip_by_attributes},
    {"Clip", 11, kLatest, {1, 3}, k1, direct<OpKind::Clip>},
};

}  // namespace

const std::span<const OpRow> kElementwiseRows = kRows;

}  // namespace ec::onnx
