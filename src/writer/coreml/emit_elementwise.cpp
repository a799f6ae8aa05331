// Element-wise arithmetic, comparisons, functions and casts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

bool is_narrow_integer(DType dtype) { return is_integer(dtype) && bit_width(dtype) < 32; }

// Programs compute on int32: results of fewer bits would not wrap.
Status refuse_narrow(const OpEmitter& e) {
  if (!is_narrow_integer(e.op().output()->dtype())) return {};
  return e.fail("arithmetic on integers of fewer than 32 bits, which programs do not have",
                "compute on int32 or on floats");
}

Status emit_arithmetic(OpEmitter& e, std::string_view type) {
  EC_CHECK_OK(refuse_narrow(e));
  e.emit(type, {{"x", e.in(0)}, {"y", e.in(1)}});
  return {};
}
Status emit_add(OpEmitter& e) { return emit_arithmetic(e, "add"); }
Status emit_sub(OpEmitter& e) { return emit_arithmetic(e, "sub"); }
Status emit_mul(OpEmitter& e) { return emit_arithmetic(e, "mul"); }
Status emit_floor_div(OpEmitter& e) { return emit_arithmetic(e, "floor_div"); }

Status emit_pow(OpEmitter& e) {
  if (e.element(0) != e.element(1))
    return e.fail("base and exponent of different types", std::string(kPipelineHint));
  return emit_arithmetic(e, "pow");
}

Status emit_div(OpEmitter& e) {
  if (!e.is_float_input())
    return e.fail("division of integers, which programs round down and not towards zero",
                  std::string(kPipelineHint));
  return emit_arithmetic(e, "real_div");
}

Status emit_mod(OpEmitter& e) {
  if (e.attrs<ModAttrs>().fmod)
    return e.fail("remainder with the sign of the dividend", std::string(kPipelineHint));
  return emit_arithmetic(e, "mod");
}

// Signs are compared as numbers.
Status emit_equal(OpEmitter& e) {
  if (e.element() != DataType::Bool) {
    e.emit("equal", {{"x", e.in(0)}, {"y", e.in(1)}});
    return {};
  }
  const std::string differs = e.step("logical_xor", {{"x", e.in(0)}, {"y", e.in(1)}},
                                     ValueType::tensor(DataType::Bool, e.sizes(e.op().output())));
  e.emit("logical_not", {{"x", differs}});
  return {};
}

Status emit_neg(OpEmitter& e) {
  EC_CHECK_OK(refuse_narrow(e));
  e.emit("mul", {{"x", e.in(0)}, {"y", e.number(-1)}});
  return {};
}

Status emit_reciprocal(OpEmitter& e) {
  // `inverse` adds an epsilon of 1e-4 by default, and kernels may insist on one.
  e.emit("real_div", {{"x", e.real(1)}, {"y", e.in(0)}});
  return {};
}

Status emit_log(OpEmitter& e) {
  e.emit("log", {{"x", e.in(0)}, {"epsilon", e.real(1e-45)}});
  return {};
}

Status emit_rsqrt(OpEmitter& e) {
  e.emit("rsqrt", {{"x", e.in(0)}, {"epsilon", e.real(1e-45)}});
  return {};
}

Status emit_squared_difference(OpEmitter& e) {
  EC_CHECK_OK(refuse_narrow(e));
  const std::string difference =
      e.step("sub", {{"x", e.in(0)}, {"y", e.in(1)}}, type_of(e.op().output()));
  e.emit("square", {{"x", difference}});
  return {};
}

Status emit_is_nan(OpEmitter& e) {
  e.emit("not_equal", {{"x", e.in(0)}, {"y", e.in(0)}});
  return {};
}

Status emit_is_inf(OpEmitter& e) {
  const auto& attrs = e.attrs<IsInfAttrs>();
  if (!attrs.detect_positive && !attrs.detect_negative)
    return e.fail("infinities of no sign", std::string(kPipelineHint));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::string x = e.in(0);
  if (attrs.detect_positive && attrs.detect_negative)
    x = e.step("abs", {{"x", x}}, type_of(e.input(0)));
  e.emit("equal", {{"x", x}, {"y", e.real(attrs.detect_positive ? kInfinity : -kInfinity)}});
  return {};
}

Status emit_where(OpEmitter& e) {
  e.emit("select", {{"cond", e.in(0)}, {"a", e.in(1)}, {"b", e.in(2)}});
  return {};
}

// --- casts ---------------------------------------------------------------------------------------

std::string cast_to(OpEmitter& e, const std::string& x, DataType to, bool last) {
  std::vector<Arg> args{{"x", x}, {"dtype", e.text(coreml::name_of(to))}};
  if (!last)
    return e.step("cast", std::move(args), ValueType::tensor(to, e.sizes(e.op().output())));
  e.emit("cast", std::move(args));
  return {};
}

// Whether every value of `from` is one of `to`.
bool widens(DType from, DType to) {
  return lowest_integer(from) >= lowest_integer(to) && highest_integer(from) <= highest_integer(to);
}

// Floats that go into integers of 8 and 16 bits saturate, as they do in the graph.
std::string saturated(OpEmitter& e, DType to) {
  return e.step("clip",
                {{"x", e.in(0)},
                 {"alpha", e.real(static_cast<double>(lowest_integer(to)))},
                 {"beta", e.real(static_cast<double>(highest_integer(to)))}},
                type_of(e.input(0)));
}

Status emit_cast(OpEmitter& e) {
  const DType from = e.input(0)->dtype(), to = e.op().output()->dtype();
  const DataType source = type_of(e.input(0)).element, target = type_of(e.op().output()).element;
  if (is_integer(from) && is_integer(to)) {
    // What is given to the program has the range of the type that the model declares.
    const bool declared = e.input(0)->is_input();
    // Values of 64 bits are written with 32.
    if (!declared && is_narrow_integer(to) && !widens(from, to))
      return e.fail("a cast of integers that wraps around", "keep the values as int32");
    // Bytes that `quantize` gave are bytes in the program; all other integers have 32 bits there.
    if (source == target)
      e.alias(e.in(0));
    else
      cast_to(e, e.in(0), target, true);
    return {};
  }
  if (source == target) {
    e.alias(e.in(0));
    return {};
  }
  const bool narrow = is_narrow_integer(to) && is_float(from);
  if (narrow && bit_width(to) < 8)
    return e.fail("a cast of floats to fewer than 8 bits, which wraps around",
                  "keep the values as int32");
  cast_to(e, narrow ? saturated(e, to) : e.in(0), target, true);
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Add, emit_add},
    {OpKind::Sub, emit_sub},
    {OpKind::Mul, emit_mul},
    {OpKind::Div, emit_div},
    {OpKind::Pow, emit_pow},
    {OpKind::Mod, emit_mod},
    {OpKind::FloorDiv, emit_floor_div},
    {OpKind::SquaredDifference, emit_squared_difference},
    {OpKind::Equal, emit_equal},
    {OpKind::Neg, emit_neg},
    {OpKind::Reciprocal, emit_reciprocal},
    {OpKind::Log, emit_log},
    {OpKind::Rsqrt, emit_rsqrt},
    {OpKind::IsNan, emit_is_nan},
    {OpKind::IsInf, emit_is_inf},
    {OpKind::Where, emit_where},
    {OpKind::Cast, emit_cast},
};

constexpr PlainRow kPlain[] = {
    {OpKind::Identity, "identity"},
    {OpKind::Abs, "abs"},
    {OpKind::Exp, "exp"},
    {OpKind::Sqrt, "sqrt"},
    {OpKind::Floor, "floor"},
    {OpKind::Ceil, "ceil"},
    {OpKind::Round, "round"},
    {OpKind::Sign, "sign"},
    {OpKind::Sin, "sin"},
    {OpKind::Cos, "cos"},
    {OpKind::Tan, "tan"},
    {OpKind::Asin, "asin"},
    {OpKind::Acos, "acos"},
    {OpKind::Atan, "atan"},
    {OpKind::Sinh, "sinh"},
    {OpKind::Cosh, "cosh"},
    {OpKind::Tanh, "tanh"},
    {OpKind::Atanh, "atanh"},
    {OpKind::Erf, "erf"},
    {OpKind::Not, "logical_not"},
    {OpKind::Relu, "relu"},
    {OpKind::Sigmoid, "sigmoid"},
    {OpKind::Softplus, "softplus"},
    {OpKind::Softsign, "softsign"},
    {OpKind::Max, "maximum"},
    {OpKind::Min, "minimum"},
    {OpKind::And, "logical_and"},
    {OpKind::Or, "logical_or"},
    {OpKind::Xor, "logical_xor"},
    {OpKind::Less, "less"},
    {OpKind::LessOrEqual, "less_equal"},
    {OpKind::Greater, "greater"},
    {OpKind::GreaterOrEqual, "greater_equal"},
};

}  // namespace

const std::span<const EmitRow> kEmitElementwise = kRows;
const std::span<const PlainRow> kEmitPlain = kPlain;

}  // namespace ec::mil
