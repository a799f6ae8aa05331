// Comparison, logic, bits, and choice by a condition.
#include "frontend/torch/aten/pair.h"
#include "frontend/torch/aten/promotion.h"

namespace ec::torch {
namespace {

Result<ec::Tensor*> not_equal(Call& c) {
  EC_TRY(ec::Tensor * equal, binary<OpKind::Equal>(c));
  return c.add(OpKind::Not, {equal});
}

// Comparisons of order do not know booleans.
template <OpKind kKind>
Result<ec::Tensor*> compare(Call& c) {
  EC_TRY(Pair p, operands(c));
  if (p.a->dtype() == DType::Bool) {
    EC_TRY(p.a, c.cast(p.a, DType::U8));
    EC_TRY(p.b, c.cast(p.b, DType::U8));
  }
  return c.add(kKind, {p.a, p.b});
}

Result<ec::Tensor*> truth(Call& c, std::string_view name) {
  return c.cast(c.tensor(name), DType::Bool);
}

template <OpKind kKind>
Result<ec::Tensor*> logical(Call& c) {
  EC_TRY(ec::Tensor * a, truth(c, first_name(c)));
  EC_TRY(ec::Tensor * b, truth(c, second_name(c)));
  return c.add(kKind, {a, b});
}

Result<ec::Tensor*> logical_not(Call& c) {
  EC_TRY(ec::Tensor * x, truth(c, "self"));
  return c.add(OpKind::Not, {x});
}

template <OpKind kLogical, OpKind kBits>
Result<ec::Tensor*> bitwise(Call& c) {
  EC_TRY(const Pair p, operands(c));
  return c.add(p.a->dtype() == DType::Bool ? kLogical : kBits, {p.a, p.b});
}

Result<ec::Tensor*> bitwise_not(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.add(x->dtype() == DType::Bool ? OpKind::Not : OpKind::BitwiseNot, {x});
}

template <bool kLeft>
Result<ec::Tensor*> shift(Call& c) {
  EC_TRY(const Pair p, operands(c));
  if (is_unsigned_integer(p.a->dtype())) {
    BitShiftAttrs attrs;
    attrs.left = kLeft;
    return c.add(OpKind::BitShift, {p.a, p.b}, attrs);
  }
  // Signed shifts are products with, and floored quotients by, powers of two.
  EC_TRY(ec::Tensor * power, c.add(OpKind::Pow, {c.scalar(p.a->dtype(), 2), p.b}));
  return c.add(kLeft ? OpKind::Mul : OpKind::FloorDiv, {p.a, power});
}

// Integers are finite numbers.
Result<ec::Tensor*> isnan(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  return c.add(OpKind::IsNan, {x});
}

Result<ec::Tensor*> isinf(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  return c.add(OpKind::IsInf, {x}, IsInfAttrs{});
}

Result<ec::Tensor*> isfinite(Call& c) {
  EC_TRY(ec::Tensor * nan, isnan(c));
  EC_TRY(ec::Tensor * inf, isinf(c));
  EC_TRY(ec::Tensor * either, c.add(OpKind::Or, {nan, inf}));
  return c.add(OpKind::Not, {either});
}

Result<ec::Tensor*> where(Call& c) {
  EC_TRY(ec::Tensor * condition, truth(c, "condition"));
  const TensorRef a = c.ref("self"), b = c.ref("other");
  const DType dtype = result_type(std::vector{a, b});
  EC_TRY(ec::Tensor * x, c.cast(a.tensor, dtype));
  EC_TRY(ec::Tensor * y, c.cast(b.tensor, dtype));
  return c.add(OpKind::Where, {condition, x, y});
}

Result<ec::Tensor*> masked_fill(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * mask, truth(c, "mask"));
  EC_TRY(ec::Tensor * value, c.cast(c.tensor("value"), x->dtype()));
  return c.add(OpKind::Where, {mask, value, x});
}

constexpr OperatorRow kRows[] = {
    EC_BINARY("eq", binary<OpKind::Equal>),
    EC_BINARY("ne", not_equal),
    EC_BINARY("lt", compare<OpKind::Less>),
    EC_BINARY("le", compare<OpKind::LessOrEqual>),
    EC_BINARY("gt", compare<OpKind::Greater>),
    EC_BINARY("ge", compare<OpKind::GreaterOrEqual>),
    EC_BINARY_TENSORS("logical_and", logical<OpKind::And>),
    EC_BINARY_TENSORS("logical_or", logical<OpKind::Or>),
    EC_BINARY_TENSORS("logical_xor", logical<OpKind::Xor>),
    {EC_UNARY("logical_not"), logical_not},
    EC_BINARY("bitwise_and", (bitwise<OpKind::And, OpKind::BitwiseAnd>)),
    EC_BINARY("bitwise_or", (bitwise<OpKind::Or, OpKind::BitwiseOr>)),
    EC_BINARY("bitwise_xor", (bitwise<OpKind::Xor, OpKind::BitwiseXor>)),
    EC_BINARY("__and__", (bitwise<OpKind::And, OpKind::BitwiseAnd>)),
    EC_BINARY("__or__", (bitwise<OpKind::Or, OpKind::BitwiseOr>)),
    EC_BINARY("__xor__", (bitwise<OpKind::Xor, OpKind::BitwiseXor>)),
    EC_BINARY("__lshift__", shift<true>),
    EC_BINARY("__rshift__", shift<false>),
    {"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", shift<true>},
    {"aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", shift<true>},
    {"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", shift<false>},
    {"aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", shift<false>},
    {EC_UNARY("bitwise_not"), bitwise_not},
    {EC_UNARY("isnan"), isnan},
    {EC_UNARY("isinf"), isinf},
    {EC_UNARY("isfinite"), isfinite},
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where},
    {"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where},
    {"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where},
    {"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where},
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", masked_fill},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", masked_fill},
};

}  // namespace

const std::span<const OperatorRow> kComparisonRows = kRows;

}  // namespace ec::torch
