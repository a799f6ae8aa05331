// Element-wise functions of one and two operands.
#include <cfloat>

#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

// Operands of one operation may differ in float type from iOS 17 on: constants keep the wider one.
Tensors operands(OpCall& c) {
  Tensor *x = c.in("x"), *y = c.in("y");
  if (x->dtype() == y->dtype() || !is_float(x->dtype()) || !is_float(y->dtype())) return {x, y};
  return y->is_constant() ? Tensors{x, c.cast(y, x->dtype())} : Tensors{c.cast(x, y->dtype()), y};
}

template <OpKind kKind>
Tensors binary(OpCall& c) {
  return {c.add(kKind, operands(c))};
}

template <OpKind kKind>
Tensors logical(OpCall& c) {
  return {c.add(kKind, {c.cast(c.in("x"), DType::Bool), c.cast(c.in("y"), DType::Bool)})};
}

Tensors not_equal(OpCall& c) { return {c.add(OpKind::Not, {c.add(OpKind::Equal, operands(c))})}; }

// The quotient of integers is rounded towards zero, as Core ML does.
Tensors real_div(OpCall& c) { return {c.add(OpKind::Div, operands(c))}; }

Tensors mod(OpCall& c) { return {c.add(OpKind::Mod, operands(c), ModAttrs{})}; }

template <OpKind kKind>
Tensors unary(OpCall& c) {
  return {c.add(kKind, {c.in("x")})};
}

// Functions of x + epsilon. An epsilon below all normal numbers changes nothing but zeros, which
// processors flush.
template <OpKind kKind>
Tensors shifted(OpCall& c, double otherwise) {
  Tensor* x = c.in("x");
  const double epsilon = c.number("epsilon", otherwise);
  if (epsilon >= double{FLT_MIN}) x = c.plus(x, epsilon);
  return {c.add(kKind, {x})};
}
Tensors log(OpCall& c) { return shifted<OpKind::Log>(c, 1e-45); }
Tensors rsqrt(OpCall& c) { return shifted<OpKind::Rsqrt>(c, 1e-12); }
Tensors inverse(OpCall& c) { return shifted<OpKind::Reciprocal>(c, 1e-4); }

Tensors square(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.times(x, x)};
}

Tensors exp2(OpCall& c) {
  Tensor* x = c.in("x");
  if (is_float(x->dtype())) return {c.add(OpKind::Pow, {c.like(x, 2), x})};
  Tensor* wide = c.cast(x, DType::F32);
  return {c.cast(c.add(OpKind::Pow, {c.like(wide, 2), wide}), x->dtype())};
}

Tensors logical_not(OpCall& c) { return {c.add(OpKind::Not, {c.cast(c.in("x"), DType::Bool)})}; }

Tensors cast(OpCall& c) {
  Tensor* x = c.in("x");
  const DType to = c.dtype("dtype", "fp32");
  return {c.cast(x, to)};
}

Tensors select(OpCall& c) {
  Tensor *a = c.in("a"), *b = c.in("b");
  if (a->dtype() != b->dtype()) b = c.cast(b, a->dtype());
  return {c.where(c.cast(c.in("cond"), DType::Bool), a, b)};
}

constexpr OpRow kBinary[] = {
    {"add", kIos15, "x y", binary<OpKind::Add>},
    {"sub", kIos15, "x y", binary<OpKind::Sub>},
    {"mul", kIos15, "x y", binary<OpKind::Mul>},
    {"real_div", kIos15, "x y", real_div},
    {"floor_div", kIos15, "x y", binary<OpKind::FloorDiv>},
    {"mod", kIos15, "x y", mod},
    {"pow", kIos15, "x y", binary<OpKind::Pow>},
    {"maximum", kIos15, "x y", binary<OpKind::Max>},
    {"minimum", kIos15, "x y", binary<OpKind::Min>},
    {"equal", kIos15, "x y", binary<OpKind::Equal>},
    {"not_equal", kIos15, "x y", not_equal},
    {"less", kIos15, "x y", binary<OpKind::Less>},
    {"less_equal", kIos15, "x y", binary<OpKind::LessOrEqual>},
    {"greater", kIos15, "x y", binary<OpKind::Greater>},
    {"greater_equal", kIos15, "x y", binary<OpKind::GreaterOrEqual>},
    {"logical_and", kIos15, "x y", logical<OpKind::And>},
    {"logical_or", kIos15, "x y", logical<OpKind::Or>},
    {"logical_xor", kIos15, "x y", logical<OpKind::Xor>},
    {"select", kIos15, "cond a b", select},
};

constexpr OpRow kUnary[] = {
    {"abs", kIos15, "x", unary<OpKind::Abs>},
    {"acos", kIos15, "x", unary<OpKind::Acos>},
    {"asin", kIos15, "x", unary<OpKind::Asin>},
    {"atan", kIos15, "x", unary<OpKind::Atan>},
    {"atanh", kIos15, "x", unary<OpKind::Atanh>},
    {"ceil", kIos15, "x", unary<OpKind::Ceil>},
    {"cos", kIos15, "x", unary<OpKind::Cos>},
    {"cosh", kIos15, "x", unary<OpKind::Cosh>},
    {"erf", kIos15, "x", unary<OpKind::Erf>},
    {"exp", kIos15, "x", unary<OpKind::Exp>},
    {"exp2", kIos15, "x", exp2},
    {"floor", kIos15, "x", unary<OpKind::Floor>},
    {"inverse", kIos15, "x epsilon?", inverse},
    {"log", kIos15, "x epsilon?", log},
    {"logical_not", kIos15, "x", logical_not},
    {"round", kIos15, "x", unary<OpKind::Round>},
    {"rsqrt", kIos15, "x epsilon?", rsqrt},
    {"sign", kIos15, "x", unary<OpKind::Sign>},
    {"sin", kIos15, "x", unary<OpKind::Sin>},
    {"sinh", kIos15, "x", unary<OpKind::Sinh>},
    {"sqrt", kIos15, "x", unary<OpKind::Sqrt>},
    {"square", kIos15, "x", square},
    {"tan", kIos15, "x", unary<OpKind::Tan>},
    {"tanh", kIos15, "x", unary<OpKind::Tanh>},
    {"cast", kIos15, "x dtype", cast},
    {"identity", kIos15, "x", unary<OpKind::Identity>},
};

}  // namespace

const std::span<const OpRow> kBinaryRows = kBinary;
const std::span<const OpRow> kUnaryRows = kUnary;

}  // namespace ec::mil
