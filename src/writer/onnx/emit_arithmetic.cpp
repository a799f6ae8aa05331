// Element-wise ops, reductions, casts, quantisation.
#include <algorithm>

#include "ops/convert.h"
#include "writer/onnx/emitter.h"

namespace ec::onnx {
namespace {

bool is_float8(DType d) {
  return d == DType::F8E4M3FN || d == DType::F8E4M3FNUZ || d == DType::F8E5M2 ||
         d == DType::F8E5M2FNUZ;
}

constexpr PlainRow kPlain[] = {
    {OpKind::Identity, "Identity"},
    {OpKind::Abs, "Abs"},
    {OpKind::Neg, "Neg"},
    {OpKind::Exp, "Exp"},
    {OpKind::Log, "Log"},
    {OpKind::Sqrt, "Sqrt"},
    {OpKind::Reciprocal, "Reciprocal"},
    {OpKind::Floor, "Floor"},
    {OpKind::Ceil, "Ceil"},
    {OpKind::Round, "Round"},
    {OpKind::Sign, "Sign"},
    {OpKind::Sin, "Sin"},
    {OpKind::Cos, "Cos"},
    {OpKind::Tan, "Tan"},
    {OpKind::Asin, "Asin"},
    {OpKind::Acos, "Acos"},
    {OpKind::Atan, "Atan"},
    {OpKind::Sinh, "Sinh"},
    {OpKind::Cosh, "Cosh"},
    {OpKind::Tanh, "Tanh"},
    {OpKind::Asinh, "Asinh"},
    {OpKind::Acosh, "Acosh"},
    {OpKind::Atanh, "Atanh"},
    {OpKind::Erf, "Erf"},
    {OpKind::Not, "Not"},
    {OpKind::BitwiseNot, "BitwiseNot"},
    {OpKind::IsNan, "IsNaN"},
    {OpKind::Relu, "Relu"},
    {OpKind::Sigmoid, "Sigmoid"},
    {OpKind::Softplus, "Softplus"},
    {OpKind::Softsign, "Softsign"},
    {OpKind::Mish, "Mish"},
    {OpKind::HardSwish, "HardSwish"},
    {OpKind::Prelu, "PRelu"},
    {OpKind::Add, "Add"},
    {OpKind::Sub, "Sub"},
    {OpKind::Mul, "Mul"},
    {OpKind::Div, "Div"},
    {OpKind::Pow, "Pow"},
    {OpKind::Max, "Max"},
    {OpKind::Min, "Min"},
    {OpKind::And, "And"},
    {OpKind::Or, "Or"},
    {OpKind::Xor, "Xor"},
    {OpKind::BitwiseAnd, "BitwiseAnd"},
    {OpKind::BitwiseOr, "BitwiseOr"},
    {OpKind::BitwiseXor, "BitwiseXor"},
    {OpKind::Equal, "Equal"},
    {OpKind::Less, "Less"},
    {OpKind::LessOrEqual, "LessOrEqual"},
    {OpKind::Greater, "Greater"},
    {OpKind::GreaterOrEqual, "GreaterOrEqual"},
    {OpKind::Where, "Where"},
    {OpKind::Det, "Det"},
    {OpKind::Squeeze, "Squeeze"},
    {OpKind::Unsqueeze, "Unsqueeze"},
    {OpKind::Expand, "Expand"},
    {OpKind::Size, "Size"},
    {OpKind::Slice, "Slice"},
    {OpKind::Tile, "Tile"},
    {OpKind::NonZero, "NonZero"},
    {OpKind::DynamicQuantize, "DynamicQuantizeLinear"},
};

Status rsqrt(OpEmitter& e) {
  e.node("Reciprocal", {e.step("Sqrt", e.inputs())}, e.outputs());
  return {};
}

Status is_inf(OpEmitter& e) {
  const auto& attrs = e.attrs<IsInfAttrs>();
  AttributeList a;
  a.add("detect_negative", int64_t{attrs.detect_negative});
  a.add("detect_positive", int64_t{attrs.detect_positive});
  e.node("IsInf", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status cast(OpEmitter& e) {
  const auto& attrs = e.attrs<CastAttrs>();
  AttributeList a;
  a.add("to", type_number(attrs.to));
  if (is_float8(attrs.to) && !attrs.saturate) a.add("saturate", int64_t{0});
  if (attrs.to == DType::F8E8M0) {
    a.add("round_mode", std::string_view(attrs.round_mode));
    if (!attrs.saturate) a.add("saturate", int64_t{0});
  }
  e.node("Cast", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status bit_cast(OpEmitter& e) {
  AttributeList a;
  a.add("to", type_number(e.attrs<BitCastAttrs>().to));
  e.node("BitCast", e.inputs(), e.outputs(), std::move(a));
  return {};
}

// x * sigmoid(alpha * x)
Status silu(OpEmitter& e) {
  const float alpha = e.attrs<SiluAttrs>().alpha;
  if (e.opset() >= 24) {
    AttributeList a;
    a.add("alpha", alpha);
    e.node("Swish", e.inputs(), e.outputs(), std::move(a));
    return {};
  }
  std::string gate = e.in(0);
  if (alpha != 1.0f) gate = e.step("Mul", {gate, e.scalar(e.dtype(), alpha)});
  gate = e.step("Sigmoid", {gate});
  e.node("Mul", {e.in(0), gate}, e.outputs());
  return {};
}

Status clip(OpEmitter& e) {
  e.node("Clip", e.inputs_and_scalars(), e.outputs());
  return {};
}

Status gelu(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<GeluAttrs>().form == GeluForm::Tanh) a.add("approximate", std::string_view("tanh"));
  e.node("Gelu", e.inputs(), e.outputs(), std::move(a));
  return {};
}

template <OpKind kKind>
Status with_alpha(OpEmitter& e) {
  constexpr std::string_view kName = kKind == OpKind::Elu    ? "Elu"
                                     : kKind == OpKind::Celu ? "Celu"
                                                             : "ThresholdedRelu";
  AttributeList a;
  a.add("alpha", e.attrs<AlphaAttrs>().alpha);
  e.node(kName, e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status selu(OpEmitter& e) {
  AttributeList a;
  a.add("alpha", e.attrs<SeluAttrs>().alpha);
  a.add("gamma", e.attrs<SeluAttrs>().gamma);
  e.node("Selu", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status leaky_relu(OpEmitter& e) {
  AttributeList a;
  a.add("alpha", e.attrs<LeakyReluAttrs>().alpha);
  e.node("LeakyRelu", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status hard_sigmoid(OpEmitter& e) {
  AttributeList a;
  a.add("alpha", e.attrs<HardSigmoidAttrs>().alpha);
  a.add("beta", e.attrs<HardSigmoidAttrs>().beta);
  e.node("HardSigmoid", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status shrink(OpEmitter& e) {
  AttributeList a;
  a.add("bias", e.attrs<ShrinkAttrs>().bias);
  a.add("lambd", e.attrs<ShrinkAttrs>().lambd);
  e.node("Shrink", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status mod(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<ModAttrs>().fmod) a.add("fmod", int64_t{1});
  e.node("Mod", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status bit_shift(OpEmitter& e) {
  AttributeList a;
  a.add("direction", std::string_view(e.attrs<BitShiftAttrs>().left ? "LEFT" : "RIGHT"));
  e.node("BitShift", e.inputs(), e.outputs(), std::move(a));
  return {};
}

std::string_view reduce_name(OpKind kind) {
  switch (kind) {
    case OpKind::ReduceSum:
      return "ReduceSum";
    case OpKind::ReduceMean:
      return "ReduceMean";
    case OpKind::ReduceMax:
      return "ReduceMax";
    case OpKind::ReduceMin:
      return "ReduceMin";
    case OpKind::ReduceProd:
      return "ReduceProd";
    case OpKind::ReduceL1:
      return "ReduceL1";
    case OpKind::ReduceL2:
      return "ReduceL2";
    case OpKind::ReduceLogSum:
      return "ReduceLogSum";
    case OpKind::ReduceLogSumExp:
      return "ReduceLogSumExp";
    default:
      return "ReduceSumSquare";
  }
}

Status reduce(OpEmitter& e) {
  const auto& attrs = e.attrs<ReduceAttrs>();
  AttributeList a;
  a.add("keepdims", int64_t{attrs.keep_dims});
  if (attrs.noop_with_empty_axes) a.add("noop_with_empty_axes", int64_t{1});
  e.node(reduce_name(e.op().kind()), e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status arg_reduce(OpEmitter& e) {
  const auto& attrs = e.attrs<ArgReduceAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  a.add("keepdims", int64_t{attrs.keep_dims});
  if (attrs.select_last) a.add("select_last_index", int64_t{1});
  e.node(e.op().kind() == OpKind::ArgMax ? "ArgMax" : "ArgMin", e.inputs(), e.outputs(),
         std::move(a));
  return {};
}

Status cumulative(OpEmitter& e) {
  const auto& attrs = e.attrs<CumulativeAttrs>();
  AttributeList a;
  if (attrs.exclusive) a.add("exclusive", int64_t{1});
  if (attrs.reverse) a.add("reverse", int64_t{1});
  e.node(e.op().kind() == OpKind::CumSum ? "CumSum" : "CumProd", e.inputs_and_scalars(),
         e.outputs(), std::move(a));
  return {};
}

Status top_k(OpEmitter& e) {
  const auto& attrs = e.attrs<TopKAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  a.add("largest", int64_t{attrs.largest});
  a.add("sorted", int64_t{attrs.sorted});
  e.node("TopK", e.inputs(), e.outputs(), std::move(a));
  return {};
}

// Parameters of a type as the operands that ONNX wants.
struct ParameterNames {
  std::string scale, zero_point;
  int64_t axis = 0;
};
Result<ParameterNames> parameters_of(OpEmitter& e, const ec::Tensor& tensor) {
  const auto& quant = tensor.type().quant;
  if (!quant) return e.fail("scale and zero point are not known");
  const Shape shape =
      quant->per_channel() ? Shape{static_cast<int64_t>(quant->scales.size())} : Shape{};
  const std::vector<int64_t> zeros(quant->zero_points.begin(), quant->zero_points.end());
  Buffer zero_points = Buffer::allocate(zeros.size() * element_size(tensor.dtype()));
  const std::vector<int64_t> sizes = shape.sizes();
  store<int64_t>(MutableView{tensor.dtype(), sizes, zero_points.data(), nullptr}, zeros);
  ParameterNames names;
  names.axis = std::max<int64_t>(quant->axis, 0);
  names.scale = e.graph().add_initializer(tensor.name() + "/scale", TensorType(DType::F32, shape),
                                          Blob::copy_of(std::span<const float>(quant->scales)));
  names.zero_point =
      e.graph().add_initializer(tensor.name() + "/zero_point", TensorType(tensor.dtype(), shape),
                                std::move(zero_points).to_blob());
  return names;
}

Status quantize(OpEmitter& e) {
  const auto& attrs = e.attrs<QuantizeAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  if (attrs.block_size != 0) a.add("block_size", attrs.block_size);
  if (e.op().input(2) == nullptr) a.add("output_dtype", type_number(attrs.dtype));
  if (is_float8(attrs.dtype) && !attrs.saturate) a.add("saturate", int64_t{0});
  if (e.op().input(1) == nullptr) {
    EC_TRY(ParameterNames parameters, parameters_of(e, *e.op().output()));
    AttributeList of_type;
    of_type.add("axis", parameters.axis);
    e.node("QuantizeLinear", {e.in(0), parameters.scale, parameters.zero_point}, e.outputs(),
           std::move(of_type));
    return {};
  }
  e.node("QuantizeLinear", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status dequantize(OpEmitter& e) {
  const auto& attrs = e.attrs<DequantizeAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  if (attrs.block_size != 0) a.add("block_size", attrs.block_size);
  std::vector<std::string> operands = e.inputs();
  DType scale_type = DType::F32;
  if (e.op().input(1) == nullptr) {
    EC_TRY(ParameterNames parameters, parameters_of(e, *e.op().input(0)));
    operands = {e.in(0), parameters.scale, parameters.zero_point};
    a = {};
    a.add("axis", parameters.axis);
  } else {
    scale_type = e.dtype(1);
    // ONNX computes in the type of the scale.
    if (bit_width(scale_type) < bit_width(attrs.dtype)) {
      AttributeList wide;
      wide.add("to", type_number(attrs.dtype));
      operands[1] = e.step("Cast", {operands[1]}, std::move(wide));
      scale_type = attrs.dtype;
    }
  }
  if (attrs.dtype == scale_type) {
    e.node("DequantizeLinear", std::move(operands), e.outputs(), std::move(a));
    return {};
  }
  const std::string real = e.step("DequantizeLinear", std::move(operands), std::move(a));
  AttributeList to;
  to.add("to", type_number(attrs.dtype));
  e.node("Cast", {real}, e.outputs(), std::move(to));
  return {};
}

// Shapes of random tensors are attributes, unless they are only known at run time.
Status random(OpEmitter& e, std::string_view name, DType dtype, AttributeList a) {
  const ec::Tensor* shape = e.op().input(0);
  a.add("dtype", type_number(dtype));
  if (shape->is_constant() && shape->dtype() == DType::I64) {
    a.add("shape", shape->values<int64_t>());
    e.node(name, {}, e.outputs(), std::move(a));
    return {};
  }
  const std::string zeros = e.step("ConstantOfShape", {e.in(0)});
  e.node(std::string(name) + "Like", {zeros}, e.outputs(), std::move(a));
  return {};
}

Status random_uniform(OpEmitter& e) {
  const auto& attrs = e.attrs<RandomUniformAttrs>();
  AttributeList a;
  a.add("low", attrs.low);
  a.add("high", attrs.high);
  if (attrs.seed != 0) a.add("seed", static_cast<float>(attrs.seed));
  return random(e, "RandomUniform", attrs.dtype, std::move(a));
}

Status random_normal(OpEmitter& e) {
  const auto& attrs = e.attrs<RandomNormalAttrs>();
  AttributeList a;
  a.add("mean", attrs.mean);
  a.add("scale", attrs.scale);
  if (attrs.seed != 0) a.add("seed", static_cast<float>(attrs.seed));
  return random(e, "RandomNormal", attrs.dtype, std::move(a));
}

Status bernoulli(OpEmitter& e) {
  const auto& attrs = e.attrs<BernoulliAttrs>();
  AttributeList a;
  a.add("dtype", type_number(attrs.dtype));
  if (attrs.seed != 0) a.add("seed", static_cast<float>(attrs.seed));
  e.node("Bernoulli", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status multinomial(OpEmitter& e) {
  const auto& attrs = e.attrs<MultinomialAttrs>();
  AttributeList a;
  a.add("dtype", type_number(attrs.dtype));
  a.add("sample_size", attrs.sample_size);
  if (attrs.seed != 0) a.add("seed", static_cast<float>(attrs.seed));
  e.node("Multinomial", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status dropout(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<DropoutAttrs>().seed != 0) a.add("seed", e.attrs<DropoutAttrs>().seed);
  e.node("Dropout", e.inputs(), e.outputs(), std::move(a));
  return {};
}

constexpr WriteRow kRows[] = {
    {OpKind::Rsqrt, rsqrt},
    {OpKind::IsInf, is_inf},
    {OpKind::Cast, cast},
    {OpKind::BitCast, bit_cast},
    {OpKind::Silu, silu},
    {OpKind::Clip, clip},
    {OpKind::Gelu, gelu},
    {OpKind::Elu, with_alpha<OpKind::Elu>},
    {OpKind::Celu, with_alpha<OpKind::Celu>},
    {OpKind::ThresholdedRelu, with_alpha<OpKind::ThresholdedRelu>},
    {OpKind::Selu, selu},
    {OpKind::LeakyRelu, leaky_relu},
    {OpKind::HardSigmoid, hard_sigmoid},
    {OpKind::Shrink, shrink},
    {OpKind::Mod, mod},
    {OpKind::BitShift, bit_shift},
    {OpKind::ReduceSum, reduce},
    {OpKind::ReduceMean, reduce},
    {OpKind::ReduceMax, reduce},
    {OpKind::ReduceMin, reduce},
    {OpKind::ReduceProd, reduce},
    {OpKind::ReduceL1, reduce},
    {OpKind::ReduceL2, reduce},
    {OpKind::ReduceLogSum, reduce},
    {OpKind::ReduceLogSumExp, reduce},
    {OpKind::ReduceSumSquare, reduce},
    {OpKind::ArgMax, arg_reduce},
    {OpKind::ArgMin, arg_reduce},
    {OpKind::CumSum, cumulative},
    {OpKind::CumProd, cumulative},
    {OpKind::TopK, top_k},
    {OpKind::Quantize, quantize},
    {OpKind::Dequantize, dequantize},
    {OpKind::RandomUniform, random_uniform},
    {OpKind::RandomNormal, random_normal},
    {OpKind::Bernoulli, bernoulli},
    {OpKind::Multinomial, multinomial},
    {OpKind::Dropout, dropout},
};

}  // namespace

const std::span<const PlainRow> kWritePlain = kPlain;
const std::span<const WriteRow> kWriteArithmetic = kRows;

}  // namespace ec::onnx
