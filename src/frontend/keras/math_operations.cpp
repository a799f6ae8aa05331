// keras.ops: element by element, reductions, products.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/keras/operands.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

const Value& first(LayerCall& c, std::string_view name = "x1") { return c.arg(0, name); }
const Value& second(LayerCall& c, std::string_view name = "x2") { return c.arg(1, name); }

template <OpKind kKind>
Value unary(LayerCall& c) {
  return c.add(kKind, {c.float_x()});
}
// Also on integers.
template <OpKind kKind>
Value unary_any(LayerCall& c) {
  return c.add(kKind, {c.x()});
}
// What a step function does to integers is nothing.
template <OpKind kKind>
Value stepped(LayerCall& c) {
  return is_float(c.x()->dtype()) ? c.add(kKind, {c.x()}) : c.x();
}

template <OpKind kKind>
Value binary(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  return c.add(kKind, {a, b});
}
template <OpKind kKind>
Value binary_xy(LayerCall& c) {
  const auto [a, b] = operands(c, first(c, "x"), second(c, "y"));
  return c.add(kKind, {a, b});
}
template <OpKind kKind>
Value real_binary(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c), true);
  return c.add(kKind, {a, b});
}
template <OpKind kKind>
Value logical(LayerCall& c) {
  Tensor* a = c.cast(c.tensor(first(c), DType::Bool), DType::Bool);
  Tensor* b = c.cast(c.tensor(second(c), DType::Bool), DType::Bool);
  return c.add(kKind, {a, b});
}

Value not_equal(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  return c.add(OpKind::Not, {c.add(OpKind::Equal, {a, b})});
}
Value logical_not(LayerCall& c) { return c.add(OpKind::Not, {c.cast(c.x(), DType::Bool)}); }
Value divide_no_nan(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c), true);
  Tensor* zero = c.add(OpKind::Equal, {b, c.like(b, 0)});
  return c.where(zero, c.like(a, 0), c.over(a, c.where(zero, c.like(b, 1), b)));
}
Value mod(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  return c.add(OpKind::Mod, {a, b}, ModAttrs{});
}
Value fmod(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  ModAttrs attrs;
  attrs.fmod = true;
  return c.add(OpKind::Mod, {a, b}, attrs);
}
Value logaddexp(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c), true);
  Tensor* high = c.add(OpKind::Max, {a, b});
  Tensor* distance = c.add(OpKind::Neg, {c.add(OpKind::Abs, {c.minus(a, b)})});
  return c.plus(high, c.add(OpKind::Softplus, {distance}));
}
Value hypot(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c), true);
  return c.add(OpKind::Sqrt, {c.plus(c.times(a, a), c.times(b, b))});
}

Value square(LayerCall& c) { return c.times(c.x(), c.x()); }
Value times_constant(LayerCall& c, double factor) { return c.times(c.float_x(), factor); }
Value deg2rad(LayerCall& c) { return times_constant(c, std::numbers::pi / 180); }
Value rad2deg(LayerCall& c) { return times_constant(c, 180 / std::numbers::pi); }
Value exp2(LayerCall& c) { return c.add(OpKind::Exp, {c.times(c.float_x(), std::numbers::ln2)}); }
Value expm1(LayerCall& c) { return c.minus(c.add(OpKind::Exp, {c.float_x()}), 1); }
Value log1p(LayerCall& c) { return c.add(OpKind::Log, {c.plus(c.float_x(), 1)}); }
Value log2(LayerCall& c) { return c.times(c.add(OpKind::Log, {c.float_x()}), std::numbers::log2e); }
Value log10(LayerCall& c) {
  return c.times(c.add(OpKind::Log, {c.float_x()}), std::numbers::log10e);
}
Value erfc(LayerCall& c) {
  Tensor* x = c.float_x();
  return c.minus(c.like(x, 1), c.add(OpKind::Erf, {x}));
}
Value cube_root(LayerCall& c) {
  Tensor* x = c.float_x();
  Tensor* size = c.add(OpKind::Pow, {c.add(OpKind::Abs, {x}), c.like(x, 1.0 / 3)});
  return c.times(c.add(OpKind::Sign, {x}), size);
}
Value trunc(LayerCall& c) {
  Tensor* x = c.x();
  if (!is_float(x->dtype())) return x;
  Tensor* down = c.add(OpKind::Floor, {c.add(OpKind::Abs, {x})});
  return c.times(c.add(OpKind::Sign, {x}), down);
}
Value round(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t decimals = c.integer("decimals", 0);
  if (!is_float(x->dtype())) return x;
  if (decimals == 0) return c.add(OpKind::Round, {x});
  const double scale = std::pow(10.0, static_cast<double>(decimals));
  return c.over(c.add(OpKind::Round, {c.times(x, scale)}), scale);
}
Value is_finite(LayerCall& c) {
  Tensor* x = c.float_x();
  Tensor* odd =
      c.add(OpKind::Or, {c.add(OpKind::IsNan, {x}), c.add(OpKind::IsInf, {x}, IsInfAttrs{})});
  return c.add(OpKind::Not, {odd});
}
Value is_inf(LayerCall& c) { return c.add(OpKind::IsInf, {c.float_x()}, IsInfAttrs{}); }

Value clip(LayerCall& c) {
  const Value &low = c.config("x_min"), &high = c.config("x_max");
  Tensor* x = c.x();
  const bool real = low.kind() == Value::Kind::Float || high.kind() == Value::Kind::Float;
  if (real) x = c.to_float(x);
  if ((low.is_none() || low.is_number()) && (high.is_none() || high.is_number())) {
    std::optional<double> from, to;
    if (low.is_number()) from = low.as_number();
    if (high.is_number()) to = high.as_number();
    return c.clip(x, from, to);
  }
  return c.unsupported("bounds that are no numbers");
}

Value nan_to_num(LayerCall& c) {
  Tensor* x = c.float_x();
  const double largest = 3.4028234663852886e38;
  Tensor* y = c.where(c.add(OpKind::IsNan, {x}), c.like(x, c.number("nan", 0)), x);
  IsInfAttrs positive, negative;
  positive.detect_negative = false;
  negative.detect_positive = false;
  y = c.where(c.add(OpKind::IsInf, {x}, positive), c.like(x, c.number("posinf", largest)), y);
  return c.where(c.add(OpKind::IsInf, {x}, negative), c.like(x, c.number("neginf", -largest)), y);
}

// --- reductions ---------------------------------------------------------------------------------

bool keep(const LayerCall& c) { return c.flag("keepdims", false); }
Ints axes(LayerCall& c, Tensor* x) { return axes_of(c, c.config("axis"), c.rank(x)); }

template <OpKind kKind, bool kReal = false>
Value reduce(LayerCall& c) {
  Tensor* x = kReal ? c.float_x() : c.x();
  if (x->dtype() == DType::Bool) x = c.cast(x, DType::I32);
  return c.reduce(kKind, x, axes(c, x), keep(c));
}

template <OpKind kKind>
Value reduce_bool(LayerCall& c) {
  Tensor* x = c.cast(c.cast(c.x(), DType::Bool), DType::I32);
  return c.cast(c.reduce(kKind, x, axes(c, x), keep(c)), DType::Bool);
}

Tensor* variance(LayerCall& c, Tensor* x, const Ints& list, bool keep_dims) {
  Tensor* mean = c.reduce(OpKind::ReduceMean, x, list, true);
  return c.reduce(OpKind::ReduceMean, c.add(OpKind::SquaredDifference, {x, mean}), list, keep_dims);
}
Value var(LayerCall& c) {
  Tensor* x = c.float_x();
  return variance(c, x, axes(c, x), keep(c));
}
Value standard_deviation(LayerCall& c) {
  Tensor* x = c.float_x();
  return c.add(OpKind::Sqrt, {variance(c, x, axes(c, x), keep(c))});
}
Value range_of(LayerCall& c) {
  Tensor* x = c.x();
  const Ints list = axes(c, x);
  return c.minus(c.reduce(OpKind::ReduceMax, x, list, keep(c)),
                 c.reduce(OpKind::ReduceMin, x, list, keep(c)));
}
Value count_nonzero(LayerCall& c) {
  Tensor* x = c.x();
  Tensor* zero = c.add(OpKind::Equal, {x, c.like(x, 0)});
  return c.reduce(OpKind::ReduceSum, c.cast(c.add(OpKind::Not, {zero}), DType::I32), axes(c, x),
                  keep(c));
}
Value moments(LayerCall& c) {
  Tensor* x = c.float_x();
  const Ints list = axes_of(c, c.config("axes"), c.rank(x));
  return Value::list({Value::tensor(c.reduce(OpKind::ReduceMean, x, list, keep(c))),
                      Value::tensor(variance(c, x, list, keep(c)))});
}
Value average(LayerCall& c) {
  Tensor* x = c.float_x();
  const Ints list = axes(c, x);
  Tensor* weights = c.optional_tensor(c.arg(1, "weights"));
  if (weights == nullptr) return c.reduce(OpKind::ReduceMean, x, list, false);
  weights = c.to_float(weights);
  if (c.rank(weights) == 1 && list.size() == 1) {
    weights = c.reshape(weights, c.along(c.rank(x), list.front(), -1));
  }
  Tensor* all = c.times(c.add(OpKind::Add, {weights, c.times(x, 0.0)}), 1.0);
  return c.over(c.reduce(OpKind::ReduceSum, c.times(x, weights), list, false),
                c.reduce(OpKind::ReduceSum, all, list, false));
}

template <OpKind kKind>
Value arg_reduce(LayerCall& c) {
  Tensor* x = c.x();
  ArgReduceAttrs attrs;
  attrs.keep_dims = false;
  if (c.config("axis").is_none()) {
    const int64_t rank = c.rank(x);
    Tensor* y = c.add(kKind, {c.reshape(x, {-1})}, attrs);
    if (keep(c)) y = c.reshape(y, Sizes(static_cast<size_t>(rank), Size(1)));
    return c.cast(y, DType::I32);
  }
  attrs.axis = c.axis(c.integer("axis"), c.rank(x));
  attrs.keep_dims = keep(c);
  return c.cast(c.add(kKind, {x}, attrs), DType::I32);
}

template <OpKind kKind>
Value cumulative(LayerCall& c) {
  Tensor* x = c.x();
  if (x->dtype() == DType::Bool) x = c.cast(x, DType::I32);
  int64_t axis = 0;
  if (c.config("axis").is_none())
    x = c.reshape(x, {-1});
  else
    axis = c.axis(c.integer("axis"), c.rank(x));
  if (const auto type = dtype_of(c.config("dtype"))) x = c.cast(x, *type);
  return c.add(kKind, {x, c.scalar(DType::I64, static_cast<double>(axis))}, CumulativeAttrs{});
}

Value top_k(LayerCall& c) {
  Tensor* x = c.x();
  TopKAttrs attrs;
  attrs.axis = c.rank(x) - 1;
  const Tensors y = c.add_many(OpKind::TopK, {x, c.int_list({c.integer("k")})}, attrs, 2);
  return Value::list({Value::tensor(y[0]), Value::tensor(c.cast(y[1], DType::I32))});
}

// All of an axis from the smallest on; equal elements keep their order.
Tensors sorted(LayerCall& c) {
  Tensor* x = c.x();
  int64_t axis = 0;
  if (c.config("axis").is_none() && c.layer().config["axis"].is_none() && !c.has("axis"))
    axis = c.rank(x) - 1;
  else
    axis = c.axis(c.integer("axis"), c.rank(x));
  TopKAttrs attrs;
  attrs.axis = axis;
  attrs.largest = false;
  return c.add_many(OpKind::TopK, {x, c.shape_list({Size(x, axis)})}, attrs, 2);
}
Value sort(LayerCall& c) { return sorted(c)[0]; }
Value argsort(LayerCall& c) { return c.cast(sorted(c)[1], DType::I32); }

// --- products -----------------------------------------------------------------------------------

Value matmul(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  return c.matmul(a, b);
}
Value dot(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  if (c.rank(a) == 0 || c.rank(b) == 0) return c.times(a, b);
  if (c.rank(b) <= 2) return c.matmul(a, b);
  return c.unsupported("a product of more than two dimensions");
}
Value einsum(LayerCall& c) {
  EinsumAttrs attrs;
  attrs.equation = c.text("subscripts");
  std::erase(attrs.equation, ' ');
  Tensors all;
  for (const Value& arg : c.args()) collect_tensors(arg, all);
  return c.add(OpKind::Einsum, in_one_type(c, all), attrs);
}
Value outer(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  return c.times(c.reshape(a, {-1, 1}), c.reshape(b, {1, -1}));
}
Value tensordot(LayerCall& c) {
  const auto [a, b] = operands(c, first(c), second(c));
  const int64_t ra = c.rank(a), rb = c.rank(b);
  Ints left, right;
  const Value& given = c.config("axes");
  if (given.is_number()) {
    const int64_t n = given.as_int();
    if (n < 0 || n > std::min(ra, rb))
      return c.fail(Code::BadAttribute, "the axes of a product do not fit");
    for (int64_t i = 0; i < n; ++i) {
      left.push_back(ra - n + i);
      right.push_back(i);
    }
  } else if (given.items().size() == 2) {
    for (const int64_t i : c.ints_of(given.items()[0], "axes")) left.push_back(c.axis(i, ra));
    for (const int64_t i : c.ints_of(given.items()[1], "axes")) right.push_back(c.axis(i, rb));
  }
  if (!c.ok() || left.size() != right.size() || ra + rb > 50)
    return c.fail(Code::BadAttribute, "the axes of a product do not fit");
  std::string x, y, z;
  for (int64_t i = 0; i < ra; ++i) x += static_cast<char>('a' + i);
  for (int64_t i = 0; i < rb; ++i)
    y += static_cast<char>(i + ra < 26 ? 'a' + ra + i : 'A' + ra + i - 26);
  for (size_t i = 0; i < left.size(); ++i)
    y[static_cast<size_t>(right[i])] = x[static_cast<size_t>(left[i])];
  for (const char l : x)
    if (y.find(l) == std::string::npos) z += l;
  for (const char l : y)
    if (x.find(l) == std::string::npos) z += l;
  EinsumAttrs attrs;
  attrs.equation = x + "," + y + "->" + z;
  return c.add(OpKind::Einsum, {a, b}, attrs);
}

constexpr LayerRow kRows[] = {
    {"Absolute", unary_any<OpKind::Abs>},
    {"Abs", unary_any<OpKind::Abs>},
    {"Fabs", unary<OpKind::Abs>},
    {"Negative", unary_any<OpKind::Neg>},
    {"Sign", unary_any<OpKind::Sign>},
    {"Arccos", unary<OpKind::Acos>},
    {"Arccosh", unary<OpKind::Acosh>},
    {"Arcsin", unary<OpKind::Asin>},
    {"Arcsinh", unary<OpKind::Asinh>},
    {"Arctan", unary<OpKind::Atan>},
    {"Arctanh", unary<OpKind::Atanh>},
    {"Cos", unary<OpKind::Cos>},
    {"Cosh", unary<OpKind::Cosh>},
    {"Sin", unary<OpKind::Sin>},
    {"Sinh", unary<OpKind::Sinh>},
    {"Tan", unary<OpKind::Tan>},
    {"Tanh", unary<OpKind::Tanh>},
    {"Exp", unary<OpKind::Exp>},
    {"Exp2", exp2},
    {"Expm1", expm1},
    {"Log", unary<OpKind::Log>},
    {"Log1p", log1p},
    {"Log2", log2},
    {"Log10", log10},
    {"Sqrt", unary<OpKind::Sqrt>},
    {"Rsqrt", unary<OpKind::Rsqrt>},
    {"Reciprocal", unary<OpKind::Reciprocal>},
    {"Square", square},
    {"Cbrt", cube_root},
    {"Erf", unary<OpKind::Erf>},
    {"Erfc", erfc},
    {"Floor", stepped<OpKind::Floor>},
    {"Ceil", stepped<OpKind::Ceil>},
    {"Round", round},
    {"Trunc", trunc},
    {"Deg2rad", deg2rad},
    {"Rad2deg", rad2deg},
    {"Isfinite", is_finite},
    {"Isinf", is_inf},
    {"Isnan", unary<OpKind::IsNan>},
    {"Clip", clip},
    {"NanToNum", nan_to_num},
    {"Add", binary<OpKind::Add>},
    {"Subtract", binary<OpKind::Sub>},
    {"Multiply", binary<OpKind::Mul>},
    {"Divide", real_binary<OpKind::Div>},
    {"TrueDivide", real_binary<OpKind::Div>},
    {"DivideNoNan", divide_no_nan},
    {"FloorDivide", binary<OpKind::FloorDiv>},
    {"Mod", mod},
    {"Fmod", fmod},
    {"Power", binary<OpKind::Pow>},
    {"Maximum", binary<OpKind::Max>},
    {"Minimum", binary<OpKind::Min>},
    {"Fmax", binary<OpKind::Max>},
    {"Fmin", binary<OpKind::Min>},
    {"Arctan2", real_binary<OpKind::Atan2>},
    {"Logaddexp", logaddexp},
    {"Hypot", hypot},
    {"Equal", binary<OpKind::Equal>},
    {"NotEqual", not_equal},
    {"Greater", binary<OpKind::Greater>},
    {"GreaterEqual", binary<OpKind::GreaterOrEqual>},
    {"Less", binary<OpKind::Less>},
    {"LessEqual", binary<OpKind::LessOrEqual>},
    {"LogicalAnd", logical<OpKind::And>},
    {"LogicalOr", logical<OpKind::Or>},
    {"LogicalXor", logical<OpKind::Xor>},
    {"LogicalNot", logical_not},
    {"BitwiseAnd", binary_xy<OpKind::BitwiseAnd>},
    {"BitwiseOr", binary_xy<OpKind::BitwiseOr>},
    {"BitwiseXor", binary_xy<OpKind::BitwiseXor>},
    {"BitwiseNot", unary_any<OpKind::BitwiseNot>},
    {"BitwiseInvert", unary_any<OpKind::BitwiseNot>},
    {"Sum", reduce<OpKind::ReduceSum>},
    {"Mean", reduce<OpKind::ReduceMean, true>},
    {"Max", reduce<OpKind::ReduceMax>},
    {"Min", reduce<OpKind::ReduceMin>},
    {"Amax", reduce<OpKind::ReduceMax>},
    {"Amin", reduce<OpKind::ReduceMin>},
    {"Prod", reduce<OpKind::ReduceProd>},
    {"Logsumexp", reduce<OpKind::ReduceLogSumExp, true>},
    {"All", reduce_bool<OpKind::ReduceMin>},
    {"Any", reduce_bool<OpKind::ReduceMax>},
    {"Var", var},
    {"Std", standard_deviation},
    {"Ptp", range_of},
    {"CountNonzero", count_nonzero},
    {"Moments", moments},
    {"Average", average},
    {"Argmax", arg_reduce<OpKind::ArgMax>},
    {"Argmin", arg_reduce<OpKind::ArgMin>},
    {"Cumsum", cumulative<OpKind::CumSum>},
    {"Cumprod", cumulative<OpKind::CumProd>},
    {"TopK", top_k},
    {"Sort", sort},
    {"Argsort", argsort},
    {"Matmul", matmul},
    {"Dot", dot},
    {"Einsum", einsum},
    {"Outer", outer},
    {"Tensordot", tensordot},
};

}  // namespace

const std::span<const LayerRow> kMathOperations = kRows;

}  // namespace ec::keras
