// Element-wise ops, reductions, sorting.
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

int64_t any_axis(Builder& b, const Tensor* x) {
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  return rank == 0 ? 0 : b.random().pick(-rank, rank - 1);
}

void unary(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.random().chance(12) ? b.of_type(b.any_type(), 0, 4) : b.reals(0, 5)};
}
void unary_float(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.reals(0, 5)};
}
void logical_not(Builder& b, Call& c) { c.inputs = {b.of_type(DType::Bool, 0, 4)}; }

DType any_integer(Builder& b) {
  return b.random().one_of({DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32,
                            DType::I64, DType::U64});
}

void unary_integer(Builder& b, Call& c) { c.inputs = {b.of_type(any_integer(b), 0, 4)}; }

void cast(Builder& b, Call& c) {
  c.attrs = CastAttrs{.to = b.any_type(),
                      .saturate = b.random().chance(70),
                      .round_mode = b.random().one_of<std::string>({"up", "down", "nearest"})};
  c.inputs = {b.random().chance(50) ? b.reals(0, 4) : b.of_type(b.any_type(), 0, 4)};
}
void bit_cast(Builder& b, Call& c) {
  Tensor* x = b.of_type(b.any_type(), 0, 4);
  DType to = b.any_type();
  for (int i = 0; i < 50 && bit_width(to) != bit_width(x->dtype()); ++i) to = b.any_type();
  c.attrs = BitCastAttrs{.to = to};
  c.inputs = {x};
}
void clip(Builder& b, Call& c) {
  Tensor* x = b.reals(0, 5);
  c.inputs = {x};
  // Bounds of stored numbers are the real numbers that they stand for.
  const auto bound = [&](double value) {
    const bool stored = x->type().quant.has_value();
    return b.made(value_of(stored ? DType::F32 : x->dtype(), {}, {value}), stored ? 100 : 85);
  };
  const double low = static_cast<double>(b.random().pick(-4, 2)) / 2;
  c.inputs.push_back(b.random().chance(80) ? bound(low) : nullptr);
  if (b.random().chance(80))
    c.inputs.push_back(bound(low + static_cast<double>(b.random().pick(0, 8)) / 2));
}

// Two operands that broadcast; the type is the caller's.
void pair_of(Builder& b, Call& c, DType dtype) {
  const Sizes sizes = b.shape(0, 4);
  c.inputs = {b.of_type(dtype, sizes), b.of_type(dtype, b.broadcastable(sizes))};
  if (b.random().chance(30)) std::swap(c.inputs[0], c.inputs[1]);
}
void binary(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  if (b.random().chance(15)) return pair_of(b, c, any_integer(b));
  Tensor* x = b.reals(0, 4);
  c.inputs = {x, b.reals(b.broadcastable(*b.sizes_of(x)))};
  if (b.random().chance(30)) std::swap(c.inputs[0], c.inputs[1]);
}
void prelu(Builder& b, Call& c) {
  Tensor* x = b.reals(1, 4);
  c.inputs = {x, b.reals(b.broadcastable(*b.sizes_of(x)))};
}
void logical(Builder& b, Call& c) { pair_of(b, c, DType::Bool); }
void bitwise(Builder& b, Call& c) { pair_of(b, c, any_integer(b)); }
void bit_shift(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  pair_of(b, c, b.random().one_of({DType::U8, DType::U16, DType::U32, DType::U64}));
}
void where(Builder& b, Call& c) {
  Tensor* x = b.reals(0, 4);
  const Sizes sizes = *b.sizes_of(x);
  c.inputs = {b.of_type(DType::Bool, b.broadcastable(sizes)), x, b.reals(b.broadcastable(sizes))};
}

void reduce(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.random().chance(10) ? b.of_type(any_integer(b), 0, 4) : b.reals(0, 5);
  c.inputs = {x};
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  if (b.random().chance(25)) return;
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d)
    if (b.random().chance(50)) axes.push_back(b.random().chance(30) ? d - rank : d);
  c.inputs.push_back(b.ints(axes));
}
void arg_reduce(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.reals(1, 4)};
  c.attrs.edit<ArgReduceAttrs>().axis = any_axis(b, c.inputs[0]);
}
void cumulative(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  c.inputs = {x, b.ints({}, {any_axis(b, x)})};
}
void top_k(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const int64_t axis = any_axis(b, x);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t size =
      sizes[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(sizes.size()) : axis)];
  c.attrs.edit<TopKAttrs>().axis = axis;
  c.inputs = {x, b.ints({b.random().pick(0, size)})};
  c.outputs = 2;
}
void softmax(Builder& b, Call& c) {
  c.inputs = {b.reals(1, 4)};
  c.attrs = AxisAttrs{.axis = any_axis(b, c.inputs[0])};
}
void softmax_i16(Builder& b, Call& c) {
  const Sizes sizes = b.shape(1, 4);
  const QuantParams quant{{0.01f}, {0}, -1};
  c.inputs = {b.given(b.random_value(DType::I8, sizes), false, quant)};
  c.attrs = AxisAttrs{.axis = any_axis(b, c.inputs[0])};
}

constexpr Recipe kElementwise[] = {
    {OpKind::Identity, unary},
    {OpKind::Abs, unary},
    {OpKind::Neg, unary},
    {OpKind::Exp, unary_float},
    {OpKind::Log, unary_float},
    {OpKind::Sqrt, unary_float},
    {OpKind::Rsqrt, unary_float},
    {OpKind::Reciprocal, unary_float},
    {OpKind::Floor, unary_float},
    {OpKind::Ceil, unary_float},
    {OpKind::Round, unary_float},
    {OpKind::Sign, unary},
    {OpKind::Sin, unary_float},
    {OpKind::Cos, unary_float},
    {OpKind::Tan, unary_float},
    {OpKind::Asin, unary_float},
    {OpKind::Acos, unary_float},
    {OpKind::Atan, unary_float},
    {OpKind::Sinh, unary_float},
    {OpKind::Cosh, unary_float},
    {OpKind::Tanh, unary_float},
    {OpKind::Asinh, unary_float},
    {OpKind::Acosh, unary_float},
    {OpKind::Atanh, unary_float},
    {OpKind::Erf, unary},
    {OpKind::Not, logical_not},
    {OpKind::BitwiseNot, unary_integer},
    {OpKind::IsNan, unary_float},
    {OpKind::IsInf, unary_float},
    {OpKind::Cast, cast},
    {OpKind::BitCast, bit_cast},
    {OpKind::Relu, unary},
    {OpKind::Sigmoid, unary_float},
    {OpKind::Softplus, unary_float},
    {OpKind::Softsign, unary_float},
    {OpKind::Mish, unary_float},
    {OpKind::Silu, unary_float},
    {OpKind::HardSwish, unary_float},
    {OpKind::Gelu, unary_float},
    {OpKind::Elu, unary_float},
    {OpKind::Celu, unary_float},
    {OpKind::Selu, unary_float},
    {OpKind::LeakyRelu, unary_float},
    {OpKind::ThresholdedRelu, unary_float},
    {OpKind::HardSigmoid, unary_float},
    {OpKind::Shrink, unary},
    {OpKind::Clip, clip},
    {OpKind::Prelu, prelu},
    {OpKind::Add, binary},
    {OpKind::Sub, binary},
    {OpKind::Mul, binary},
    {OpKind::Div, binary},
    {OpKind::Pow, binary},
    {OpKind::Mod, binary},
    {OpKind::Max, binary},
    {OpKind::Min, binary},
    {OpKind::And, logical},
    {OpKind::Or, logical},
    {OpKind::Xor, logical},
    {OpKind::SquaredDifference, binary},
    {OpKind::FloorDiv, binary},
    {OpKind::Atan2, binary},
    {OpKind::BitwiseAnd, bitwise},
    {OpKind::BitwiseOr, bitwise},
    {OpKind::BitwiseXor, bitwise},
    {OpKind::BitShift, bit_shift},
    {OpKind::Equal, binary},
    {OpKind::Less, binary},
    {OpKind::LessOrEqual, binary},
    {OpKind::Greater, binary},
    {OpKind::GreaterOrEqual, binary},
    {OpKind::Where, where},
};

constexpr Recipe kReduce[] = {
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
    {OpKind::Softmax, softmax},
    {OpKind::LogSoftmax, softmax},
    {OpKind::Hardmax, softmax},
    {OpKind::SoftmaxI16, softmax_i16},
};

}  // namespace

const std::span<const Recipe> kElementwiseRecipes = kElementwise;
const std::span<const Recipe> kReduceRecipes = kReduce;

}  // namespace ec::fuzz
