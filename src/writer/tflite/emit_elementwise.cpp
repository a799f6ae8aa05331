// Element by element: arithmetic, comparison, activations, conversion.
#include <algorithm>
#include <cmath>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// 16-bit sums scale by any factor unless the file says that they are powers of two.
bool power_of_two_scales(const OpEmitter& e) {
  return !(e.op().output()->dtype() == DType::I16 && e.op().output()->type().quant);
}

Status emit_add(OpEmitter& e) {
  const auto fused = e.graph().fuse(e.op());
  e.add(Op::ADD, {e.in(0), e.in(1)}, {e.graph().tensor(fused.result)},
        options(BuiltinOptions::AddOptions,
                CreateAddOptions(e.fbb(), fused.activation, power_of_two_scales(e))));
  return {};
}

Status emit_sub(OpEmitter& e) {
  const auto fused = e.graph().fuse(e.op());
  e.add(Op::SUB, {e.in(0), e.in(1)}, {e.graph().tensor(fused.result)},
        options(BuiltinOptions::SubOptions,
                CreateSubOptions(e.fbb(), fused.activation, power_of_two_scales(e))));
  return {};
}

Status emit_mul(OpEmitter& e) {
  if (e.op().location().op_type == builtin_name(Op::SQUARE) && e.op().input(0) == e.op().input(1)) {
    e.add(Op::SQUARE, {e.in(0)}, {e.out()},
          options(BuiltinOptions::SquareOptions, CreateSquareOptions(e.fbb())));
    return {};
  }
  const auto fused = e.graph().fuse(e.op());
  e.add(Op::MUL, {e.in(0), e.in(1)}, {e.graph().tensor(fused.result)},
        options(BuiltinOptions::MulOptions, CreateMulOptions(e.fbb(), fused.activation)));
  return {};
}

Status emit_div(OpEmitter& e) {
  const DType dtype = e.dtype();
  if (dtype != DType::F32 && dtype != DType::I32 && !e.input(0).type().quant)
    return e.fail("division of " + std::string(dtype_name(dtype)) + " has no kernel");
  const auto fused = e.graph().fuse(e.op());
  e.add(Op::DIV, {e.in(0), e.in(1)}, {e.graph().tensor(fused.result)},
        options(BuiltinOptions::DivOptions, CreateDivOptions(e.fbb(), fused.activation)));
  return {};
}

Status emit_pow(OpEmitter& e) {
  const DType dtype = e.dtype();
  if ((dtype != DType::F32 && dtype != DType::I32) || e.input(1).dtype() != dtype)
    return e.fail("powers of " + std::string(dtype_name(dtype)) + " by " +
                  std::string(dtype_name(e.input(1).dtype())) + " have no kernel");
  e.add(Op::POW, e.inputs(), e.outputs(),
        options(BuiltinOptions::PowOptions, CreatePowOptions(e.fbb())));
  return {};
}

// floor_mod has the divisor's sign.
Status emit_mod(OpEmitter& e) {
  if (e.attrs<ModAttrs>().fmod) return e.fail("the remainder with the dividend's sign");
  e.add(Op::FLOOR_MOD, e.inputs(), e.outputs(),
        options(BuiltinOptions::FloorModOptions, CreateFloorModOptions(e.fbb())));
  return {};
}

Status emit_xor(OpEmitter& e) {
  e.add(Op::NOT_EQUAL, e.inputs(), e.outputs(),
        options(BuiltinOptions::NotEqualOptions, CreateNotEqualOptions(e.fbb())));
  return {};
}

Status emit_equal(OpEmitter& e) {
  const Operation* inverse = e.graph().only_reader(e.op().output(), OpKind::Not);
  if (inverse == nullptr) {
    e.add(Op::EQUAL, e.inputs(), e.outputs(),
          options(BuiltinOptions::EqualOptions, CreateEqualOptions(e.fbb())));
    return {};
  }
  e.graph().take_along(inverse);
  e.add(Op::NOT_EQUAL, e.inputs(), {e.graph().tensor(inverse->output())},
        options(BuiltinOptions::NotEqualOptions, CreateNotEqualOptions(e.fbb())));
  return {};
}

Status emit_bit_shift(OpEmitter& e) {
  if (e.attrs<BitShiftAttrs>().left) return e.fail("TFLite shifts to the right only");
  if (bit_width(e.dtype()) > 32) return e.fail("TFLite has no kernel for 64 bits");
  e.add(Op::RIGHT_SHIFT, e.inputs(), e.outputs(),
        options(BuiltinOptions::RightShiftOptions, CreateRightShiftOptions(e.fbb())));
  return {};
}

Options minmax(OpEmitter& e) {
  return options(BuiltinOptions::MaximumMinimumOptions, CreateMaximumMinimumOptions(e.fbb()));
}

// The operator that clamps as this clip does.
std::optional<Op> clamp_operator(const Operation& clip) {
  if (clip_bound(clip, 1, -INFINITY) == 0.0f && clip_bound(clip, 2, INFINITY) == 1.0f)
    return Op::RELU_0_TO_1;
  switch (fused_clamp(clip).value_or(FusedClamp::None)) {
    case FusedClamp::Relu:
      return Op::RELU;
    case FusedClamp::Relu6:
      return Op::RELU6;
    case FusedClamp::ReluN1To1:
      return Op::RELU_N1_TO_1;
    case FusedClamp::None:
      break;
  }
  return std::nullopt;
}

Status emit_clip(OpEmitter& e) {
  const auto low = e.has(1) ? scalar_value(&e.input(1)) : -HUGE_VAL;
  const auto high = e.has(2) ? scalar_value(&e.input(2)) : HUGE_VAL;
  const ec::TensorType& type = e.input(0).type();
  if (is_float(type.dtype) || type.quant) {
    if (const auto code = clamp_operator(e.op()))
      return e.add(*code, {e.in(0)}, {e.out()}), ok_status();
  }
  // The operators below take and give numbers that are stored the same way.
  if (type.quant != e.op().output()->type().quant)
    return e.fail("bounds between numbers with other quantisation parameters");
  for (size_t i = 1; i < 3; ++i)
    if (e.has(i) &&
        (e.input(i).type().num_elements() != 1 || e.input(i).shape()->rank() > e.rank()))
      return e.fail("a bound with more dimensions than the result");
  const bool has_low = e.has(1) && low != -HUGE_VAL;
  const bool has_high = e.has(2) && high != HUGE_VAL;
  int32_t x = e.in(0);
  const auto bound = [&](size_t i, std::optional<double> value) {
    return value ? e.number(type, *value) : e.in(i);
  };
  if (has_low && has_high) {
    x = e.step(Op::MAXIMUM, {x, bound(1, low)}, e.op().output()->type(), minmax(e));
    e.add(Op::MINIMUM, {x, bound(2, high)}, {e.out()}, minmax(e));
  } else if (has_high) {
    e.add(Op::MINIMUM, {x, bound(2, high)}, {e.out()}, minmax(e));
  } else {
    e.add(Op::MAXIMUM, {x, has_low ? bound(1, low) : x}, {e.out()}, minmax(e));
  }
  return {};
}

Status emit_gelu(OpEmitter& e) {
  e.add(Op::GELU, {e.in(0)}, {e.out()},
        options(BuiltinOptions::GeluOptions,
                CreateGeluOptions(e.fbb(), e.attrs<GeluAttrs>().form == GeluForm::Tanh)));
  return {};
}

Status emit_leaky_relu(OpEmitter& e) {
  e.add(Op::LEAKY_RELU, {e.in(0)}, {e.out()},
        options(BuiltinOptions::LeakyReluOptions,
                CreateLeakyReluOptions(e.fbb(), e.attrs<LeakyReluAttrs>().alpha)));
  return {};
}

Status emit_elu(OpEmitter& e) {
  if (e.attrs<AlphaAttrs>().alpha != 1) return e.fail("alpha other than 1");
  e.add(Op::ELU, {e.in(0)}, {e.out()});
  return {};
}

Status emit_cast(OpEmitter& e) {
  const DType from = e.dtype(), to = e.op().output()->dtype();
  // Weights stored in half precision are read by everyone in this form.
  if (from == DType::F16 && to == DType::F32) {
    e.add(Op::DEQUANTIZE, {e.in(0)}, {e.out()},
          options(BuiltinOptions::DequantizeOptions, CreateDequantizeOptions(e.fbb())));
    return {};
  }
  const auto in_type = tensor_type(from), out_type = tensor_type(to);
  if (!in_type || !out_type)
    return e.fail("from " + std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
  e.add(Op::CAST, {e.in(0)}, {e.out()},
        options(BuiltinOptions::CastOptions, CreateCastOptions(e.fbb(), *in_type, *out_type)));
  return {};
}

bool holds(const ec::Tensor& operand, const auto& numbers) {
  if (!operand.is_constant() || operand.type().num_elements() != std::ssize(numbers)) return false;
  return std::ranges::equal(constant_values(operand), numbers);
}

// The format has the parameters of the stored tensor alone; operands may only repeat them.
bool has_other_parameters(const OpEmitter& e, const QuantParams& params) {
  return (e.has(1) && !holds(e.input(1), params.scales)) ||
         (e.has(2) && !holds(e.input(2), params.zero_points));
}

Status emit_quantize(OpEmitter& e) {
  const auto& params = e.op().output()->type().quant;
  if (!params) return e.fail("the scale is not a constant");
  if (has_other_parameters(e, *params)) return e.fail("a scale that is not the result's own");
  // Integers are moved from one scale to another there; plain ones have none.
  if (!is_float(e.input(0).dtype()) && !e.input(0).type().quant)
    return e.fail("of whole numbers without a scale");
  e.add(Op::QUANTIZE, {e.in(0)}, {e.out()},
        options(BuiltinOptions::QuantizeOptions, CreateQuantizeOptions(e.fbb())));
  return {};
}

Status emit_dequantize(OpEmitter& e) {
  const auto& params = e.input(0).type().quant;
  if (!params) return e.fail("the scale is not a constant");
  if (has_other_parameters(e, *params)) return e.fail("a scale that is not the input's own");
  e.add(Op::DEQUANTIZE, {e.in(0)}, {e.out()},
        options(BuiltinOptions::DequantizeOptions, CreateDequantizeOptions(e.fbb())));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Add, emit_add},
    {OpKind::Sub, emit_sub},
    {OpKind::Mul, emit_mul},
    {OpKind::Div, emit_div},
    {OpKind::Mod, emit_mod},
    {OpKind::Pow, emit_pow},
    {OpKind::Xor, emit_xor},
    {OpKind::Equal, emit_equal},
    {OpKind::BitShift, emit_bit_shift},
    {OpKind::Clip, emit_clip},
    {OpKind::Gelu, emit_gelu},
    {OpKind::LeakyRelu, emit_leaky_relu},
    {OpKind::Elu, emit_elu},
    {OpKind::Cast, emit_cast},
    {OpKind::Quantize, emit_quantize},
    {OpKind::Dequantize, emit_dequantize},
};

constexpr PlainRow kPlain[] = {
    {OpKind::Abs, Op::ABS, BuiltinOptions::AbsOptions},
    {OpKind::Neg, Op::NEG, BuiltinOptions::NegOptions},
    {OpKind::Exp, Op::EXP, BuiltinOptions::ExpOptions},
    {OpKind::Log, Op::LOG},
    {OpKind::Sqrt, Op::SQRT},
    {OpKind::Rsqrt, Op::RSQRT},
    {OpKind::Floor, Op::FLOOR},
    {OpKind::Ceil, Op::CEIL},
    {OpKind::Round, Op::ROUND},
    {OpKind::Sign, Op::SIGN, BuiltinOptions::SignOptions},
    {OpKind::Sin, Op::SIN},
    {OpKind::Cos, Op::COS, BuiltinOptions::CosOptions},
    {OpKind::Tanh, Op::TANH},
    {OpKind::Not, Op::LOGICAL_NOT, BuiltinOptions::LogicalNotOptions},
    {OpKind::Relu, Op::RELU},
    {OpKind::Sigmoid, Op::LOGISTIC},
    {OpKind::HardSwish, Op::HARD_SWISH, BuiltinOptions::HardSwishOptions},
    {OpKind::Prelu, Op::PRELU},
    {OpKind::SquaredDifference, Op::SQUARED_DIFFERENCE, BuiltinOptions::SquaredDifferenceOptions},
    {OpKind::FloorDiv, Op::FLOOR_DIV, BuiltinOptions::FloorDivOptions},
    {OpKind::Atan2, Op::ATAN2, BuiltinOptions::ATan2Options},
    {OpKind::Max, Op::MAXIMUM, BuiltinOptions::MaximumMinimumOptions},
    {OpKind::Min, Op::MINIMUM, BuiltinOptions::MaximumMinimumOptions},
    {OpKind::And, Op::LOGICAL_AND, BuiltinOptions::LogicalAndOptions},
    {OpKind::Or, Op::LOGICAL_OR, BuiltinOptions::LogicalOrOptions},
    {OpKind::BitCast, Op::BITCAST, BuiltinOptions::BitcastOptions},
    {OpKind::BitwiseXor, Op::BITWISE_XOR, BuiltinOptions::BitwiseXorOptions},
    {OpKind::Less, Op::LESS, BuiltinOptions::LessOptions},
    {OpKind::LessOrEqual, Op::LESS_EQUAL, BuiltinOptions::LessEqualOptions},
    {OpKind::Greater, Op::GREATER, BuiltinOptions::GreaterOptions},
    {OpKind::GreaterOrEqual, Op::GREATER_EQUAL, BuiltinOptions::GreaterEqualOptions},
    {OpKind::Where, Op::SELECT_V2, BuiltinOptions::SelectV2Options},
};

}  // namespace

const std::span<const EmitRow> kEmitElementwise = kRows;
const std::span<const PlainRow> kEmitPlain = kPlain;

}  // namespace ec::tflite
