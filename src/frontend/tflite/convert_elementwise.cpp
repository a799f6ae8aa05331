// Arithmetic, comparisons and logic, element by element.
#include "frontend/moved_elements.h"
#include "frontend/tflite/complex.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

template <OpKind kKind, class Options>
Status arithmetic(OpContext& ctx) {
  return ctx.finish_activated(kKind, {ctx.in(0), ctx.in(1)}, {},
                              ctx.options<Options>().fused_activation_function());
}

Status mul(OpContext& ctx) {
  if (!ctx.is_complex_input(0) && !ctx.is_complex_input(1) && !ctx.is_complex_output())
    return arithmetic<OpKind::Mul, MulOptions>(ctx);
  return complex_mul(ctx);
}

Status square(OpContext& ctx) { return ctx.finish(OpKind::Mul, {ctx.in(0), ctx.in(0)}); }

Status floor_mod(OpContext& ctx) {
  return ctx.finish(OpKind::Mod, {ctx.in(0), ctx.in(1)}, ModAttrs{});
}

Status add_n(OpContext& ctx) {
  ec::Tensor* sum = ctx.in(0);
  for (size_t i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input is missing");
    EC_TRY(sum, ctx.add(OpKind::Add, {sum, ctx.in(i)}));
  }
  return ctx.set(0, sum);
}

Status not_equal(OpContext& ctx) {
  EC_TRY(ec::Tensor * equal, ctx.add(OpKind::Equal, {ctx.in(0), ctx.in(1)}));
  return ctx.finish(OpKind::Not, {equal});
}

Status bitwise_xor(OpContext& ctx) {
  const bool logic = ctx.dtype() == DType::Bool;
  return ctx.finish(logic ? OpKind::Xor : OpKind::BitwiseXor, {ctx.in(0), ctx.in(1)});
}

Status right_shift(OpContext& ctx) {
  BitShiftAttrs attrs;
  attrs.left = false;
  return ctx.finish(OpKind::BitShift, {ctx.in(0), ctx.in(1)}, attrs);
}

Status bitcast(OpContext& ctx) {
  BitCastAttrs attrs;
  EC_TRY(attrs.to, ctx.out_dtype());
  return ctx.finish(OpKind::BitCast, {ctx.in(0)}, attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3};

constexpr OpRow kRows[] = {
    {BuiltinOperator::ADD, k2, k1, arithmetic<OpKind::Add, AddOptions>},
    {BuiltinOperator::SUB, k2, k1, arithmetic<OpKind::Sub, SubOptions>},
    {BuiltinOperator::MUL, k2, k1, mul, false, true},
    {BuiltinOperator::DIV, k2, k1, arithmetic<OpKind::Div, DivOptions>},
    {BuiltinOperator::MAXIMUM, k2, k1, direct<OpKind::Max>},
    {BuiltinOperator::MINIMUM, k2, k1, direct<OpKind::Min>},
    {BuiltinOperator::POW, k2, k1, direct<OpKind::Pow>},
    {BuiltinOperator::FLOOR_MOD, k2, k1, floor_mod},
    {BuiltinOperator::FLOOR_DIV, k2, k1, direct<OpKind::FloorDiv>},
    {BuiltinOperator::SQUARED_DIFFERENCE, k2, k1, direct<OpKind::SquaredDifference>},
    {BuiltinOperator::ATAN2, k2, k1, direct<OpKind::Atan2>},
    {BuiltinOperator::ADD_N, {1, kMany}, k1, add_n},
    {BuiltinOperator::SQUARE, k1, k1, square},
    {BuiltinOperator::ABS, k1, k1, direct<OpKind::Abs>},
    {BuiltinOperator::CEIL, k1, k1, direct<OpKind::Ceil>},
    {BuiltinOperator::FLOOR, k1, k1, direct<OpKind::Floor>},
    {BuiltinOperator::ROUND, k1, k1, direct<OpKind::Round>},
    {BuiltinOperator::NEG, k1, k1, direct<OpKind::Neg>},
    {BuiltinOperator::EXP, k1, k1, direct<OpKind::Exp>},
    {BuiltinOperator::LOG, k1, k1, direct<OpKind::Log>},
    {BuiltinOperator::SQRT, k1, k1, direct<OpKind::Sqrt>},
    {BuiltinOperator::RSQRT, k1, k1, direct<OpKind::Rsqrt>},
    {BuiltinOperator::SIN, k1, k1, direct<OpKind::Sin>},
    {BuiltinOperator::COS, k1, k1, direct<OpKind::Cos>},
    {BuiltinOperator::SIGN, k1, k1, direct<OpKind::Sign>},
    {BuiltinOperator::LOGICAL_NOT, k1, k1, direct<OpKind::Not>},
    {BuiltinOperator::LOGICAL_AND, k2, k1, direct<OpKind::And>},
    {BuiltinOperator::LOGICAL_OR, k2, k1, direct<OpKind::Or>},
    {BuiltinOperator::LESS, k2, k1, direct<OpKind::Less>},
    {BuiltinOperator::LESS_EQUAL, k2, k1, direct<OpKind::LessOrEqual>},
    {BuiltinOperator::GREATER, k2, k1, direct<OpKind::Greater>},
    {BuiltinOperator::GREATER_EQUAL, k2, k1, direct<OpKind::GreaterOrEqual>},
    {BuiltinOperator::EQUAL, k2, k1, direct<OpKind::Equal>},
    {BuiltinOperator::NOT_EQUAL, k2, k1, not_equal},
    {BuiltinOperator::BITWISE_XOR, k2, k1, bitwise_xor},
    {BuiltinOperator::RIGHT_SHIFT, k2, k1, right_shift},
    {BuiltinOperator::SELECT, k3, k1, select},
    {BuiltinOperator::SELECT_V2, k3, k1, direct<OpKind::Where>},
    {BuiltinOperator::BITCAST, k1, k1, bitcast},
};

}  // namespace

const std::span<const OpRow> kElementwiseRows = kRows;

}  // namespace ec::tflite
