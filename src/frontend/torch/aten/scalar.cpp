// Sizes and other numbers: known ones are computed, open ones are tensors of rank 0.
#include <algorithm>
#include <cmath>

#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

using Kind = SymScalar::Kind;

// --- of tensors ----------------------------------------------------------------------------------

Result<TorchValue> size_at(Call& c, ec::Tensor* x, int64_t axis) {
  if (const auto known = Call::known_size(x, axis)) return TorchValue(*known);
  ShapeAttrs attrs;
  attrs.start = axis;
  attrs.end = axis + 1;
  EC_TRY(ec::Tensor * size, c.add(OpKind::Shape, {x}, attrs));
  EC_TRY(size, c.squeeze(size, {0}));
  return TorchValue(SymScalar{size, Kind::Int});
}

Result<TorchValue> sizes(Call& c) {
  ec::Tensor* x = c.tensor("self");
  std::vector<TorchValue> result;
  for (int64_t i = 0; i < c.rank(x); ++i) {
    EC_TRY(TorchValue size, size_at(c, x, i));
    result.push_back(std::move(size));
  }
  return TorchValue::list(std::move(result));
}

Result<TorchValue> size(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  if (rank == 0) return c.fail(Code::BadValue, "a scalar has no sizes");
  return size_at(c, x, c.dim("dim", rank));
}

Result<TorchValue> dim(Call& c) { return TorchValue(c.rank(c.tensor(c.schema().args[0].name))); }

Result<TorchValue> numel(Call& c) {
  ec::Tensor* x = c.tensor("self");
  if (const auto count = x->type().num_elements()) return TorchValue(*count);
  EC_TRY(ec::Tensor * count, c.add(OpKind::Size, {x}));
  return TorchValue(SymScalar{count, Kind::Int});
}

Result<TorchValue> len(Call& c) {
  ec::Tensor* x = c.tensor("t");
  if (c.rank(x) == 0) return c.fail(Code::BadValue, "a scalar has no length");
  return size_at(c, x, 0);
}

// Strides of a row-major tensor: memory formats are not kept.
Result<TorchValue> strides(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  std::vector<TorchValue> result(static_cast<size_t>(rank));
  int64_t stride = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    result[static_cast<size_t>(i)] = stride;
    stride *= std::max<int64_t>(c.size(x, i), 1);
  }
  if (c.has_arg("dim")) {
    if (rank == 0) return c.fail(Code::BadValue, "a scalar has no strides");
    return result[static_cast<size_t>(c.dim("dim", rank))];
  }
  return TorchValue::list(std::move(result));
}

template <int64_t kValue>
Result<TorchValue> always(Call&) {
  return TorchValue(kValue);
}
template <bool kValue>
Result<TorchValue> always_bool(Call&) {
  return TorchValue(kValue);
}

Kind kind_of(DType dtype) {
  return dtype == DType::Bool ? Kind::Bool : is_float(dtype) ? Kind::Float : Kind::Int;
}

Result<TorchValue> item(Call& c) {
  const TensorRef x = c.ref("self");
  return as_number(c.site(), x, kind_of(x.tensor->dtype()));
}

template <Kind kKind>
Result<TorchValue> convert(Call& c) {
  const TorchValue& value = c.arg(c.schema().args[0].name);
  if (value.is_number()) {
    if (kKind == Kind::Bool) return TorchValue(*known_number(value) != 0);
    if (kKind == Kind::Float) return TorchValue(*known_number(value));
    if (!value.is<double>()) return TorchValue(*known_int(value));
    if (!(std::abs(value.get<double>()) < 0x1p63))
      return c.fail(Code::BadValue, "a number that is no integer is made one");
    return TorchValue(static_cast<int64_t>(value.get<double>()));
  }
  return as_number(c.site(), c.ref(c.schema().args[0].name), kKind);
}

Result<TorchValue> dtype(Call& c) { return TorchValue(scalar_type_of(c.tensor("a")->dtype())); }
Result<TorchValue> device(Call&) { return TorchValue("cpu"); }
Result<TorchValue> is_floating_point(Call& c) {
  return TorchValue(is_float(c.tensor("self")->dtype()));
}
Result<TorchValue> is_quantized(Call& c) {
  const auto* ref = c.arg("a").get_if<TensorRef>();
  return TorchValue(ref != nullptr && ref->quant != nullptr);
}

// --- arithmetic on numbers -----------------------------------------------------------------------

// The operands of a call on numbers, when both are known.
struct Numbers {
  TorchValue a, b;
  bool known = false, integers = false;
  double x = 0, y = 0;
  int64_t i = 0, k = 0;
};
Numbers numbers(Call& c) {
  Numbers n;
  n.a = c.arg(c.schema().args[0].name);
  n.b = c.schema().args.size() > 1 ? c.arg(c.schema().args[1].name) : n.a;
  const auto x = known_number(n.a), y = known_number(n.b);
  if (!x || !y) return n;
  n.known = true;
  n.x = *x;
  n.y = *y;
  n.integers = !n.a.is<double>() && !n.b.is<double>();
  if (n.integers) {
    n.i = known_int(n.a).value_or(0);
    n.k = known_int(n.b).value_or(0);
  }
  return n;
}

// The IR op on rank-0 tensors.
Result<TorchValue> symbolic(Call& c, OpKind kind, const Numbers& n, Attrs attrs = {}) {
  EC_TRY(const TensorRef a, as_tensor(c.site(), n.a));
  EC_TRY(const TensorRef b, as_tensor(c.site(), n.b));
  DType dtype = result_type(std::vector{a, b});
  if (kind == OpKind::Div) dtype = to_float_type(dtype);
  EC_TRY(ec::Tensor * x, c.cast(a.tensor, dtype));
  EC_TRY(ec::Tensor * y, c.cast(b.tensor, dtype));
  EC_TRY(ec::Tensor * z, c.add(kind, {x, y}, std::move(attrs)));
  return TorchValue(SymScalar{z, kind_of(z->dtype())});
}

int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

Result<TorchValue> add(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, OpKind::Add, n);
  return n.integers ? TorchValue(wrapped(bits(n.i) + bits(n.k))) : TorchValue(n.x + n.y);
}
Result<TorchValue> sub(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, OpKind::Sub, n);
  return n.integers ? TorchValue(wrapped(bits(n.i) - bits(n.k))) : TorchValue(n.x - n.y);
}
Result<TorchValue> mul(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, OpKind::Mul, n);
  return n.integers ? TorchValue(wrapped(bits(n.i) * bits(n.k))) : TorchValue(n.x * n.y);
}
Result<TorchValue> div(Call& c) {
  const Numbers n = numbers(c);
  return n.known ? Result<TorchValue>(TorchValue(n.x / n.y)) : symbolic(c, OpKind::Div, n);
}
Result<TorchValue> floordiv(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, OpKind::FloorDiv, n);
  if (n.y == 0) return c.fail(Code::BadValue, "division by zero");
  if (!n.integers) return TorchValue(std::floor(n.x / n.y));
  if (n.k == -1) return TorchValue(wrapped(0 - bits(n.i)));
  const int64_t q = n.i / n.k;
  return TorchValue(n.i % n.k != 0 && (n.i < 0) != (n.k < 0) ? q - 1 : q);
}
Result<TorchValue> mod(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, OpKind::Mod, n, ModAttrs{});
  if (n.y == 0) return c.fail(Code::BadValue, "division by zero");
  if (!n.integers) return TorchValue(n.x - std::floor(n.x / n.y) * n.y);
  if (n.k == -1) return TorchValue(0);
  const int64_t r = n.i % n.k;
  return TorchValue(r != 0 && (r < 0) != (n.k < 0) ? r + n.k : r);
}
Result<TorchValue> pow(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, OpKind::Pow, n);
  const double y = std::pow(n.x, n.y);
  return n.integers && n.k >= 0 && std::abs(y) < 0x1p62 ? TorchValue(static_cast<int64_t>(y))
                                                        : TorchValue(y);
}
template <bool kMax>
Result<TorchValue> extreme(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, kMax ? OpKind::Max : OpKind::Min, n);
  return (n.x < n.y) == kMax ? n.b : n.a;
}

// Comparisons: the IR op, and what it says of known numbers.
template <OpKind kKind>
Result<TorchValue> compare(Call& c) {
  const Numbers n = numbers(c);
  if (!n.known) return symbolic(c, kKind, n);
  const auto decide = [](const auto& x, const auto& y) {
    switch (kKind) {
      case OpKind::Less:
        return x < y;
      case OpKind::LessOrEqual:
        return x <= y;
      case OpKind::Greater:
        return x > y;
      case OpKind::GreaterOrEqual:
        return x >= y;
      default:
        return x == y;
    }
  };
  return TorchValue(n.integers ? decide(n.i, n.k) : decide(n.x, n.y));
}

Result<TorchValue> negated(Call& c, TorchValue value) {
  if (value.is<bool>()) return TorchValue(!value.get<bool>());
  EC_TRY(const TensorRef ref, as_tensor(c.site(), value));
  EC_TRY(ec::Tensor * truth, c.cast(ref.tensor, DType::Bool));
  EC_TRY(truth, c.add(OpKind::Not, {truth}));
  return TorchValue(SymScalar{truth, Kind::Bool});
}

Result<TorchValue> not_equal(Call& c) {
  EC_TRY(TorchValue equal, compare<OpKind::Equal>(c));
  return negated(c, std::move(equal));
}

Result<TorchValue> logical_not(Call& c) {
  const TorchValue& value = c.arg("self");
  if (const auto number = known_number(value)) return TorchValue(*number == 0);
  return negated(c, value);
}

template <OpKind kKind>
Result<TorchValue> logical(Call& c) {
  const Numbers n = numbers(c);
  if (n.known)
    return TorchValue(kKind == OpKind::And ? n.x != 0 && n.y != 0 : n.x != 0 || n.y != 0);
  return symbolic(c, kKind, n);
}

Result<TorchValue> neg(Call& c) {
  const Numbers n = numbers(c);
  if (n.known) return n.integers ? TorchValue(wrapped(0 - bits(n.i))) : TorchValue(-n.x);
  EC_TRY(const TensorRef ref, as_tensor(c.site(), n.a));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Neg, {ref.tensor}));
  return TorchValue(SymScalar{y, kind_of(y->dtype())});
}

Result<TorchValue> sqrt(Call& c) {
  const Numbers n = numbers(c);
  if (n.known) return TorchValue(std::sqrt(n.x));
  EC_TRY(const TensorRef ref, as_tensor(c.site(), n.a));
  EC_TRY(ec::Tensor * x, c.cast(ref.tensor, to_float_type(ref.tensor->dtype())));
  EC_TRY(x, c.add(OpKind::Sqrt, {x}));
  return TorchValue(SymScalar{x, Kind::Float});
}

// Whole numbers from floats: floor, ceil, trunc, round to even.
template <OpKind kKind>
Result<TorchValue> rounded(Call& c) {
  const Numbers n = numbers(c);
  if (n.known) {
    if (n.integers) return n.a;
    const double y = kKind == OpKind::Floor  ? std::floor(n.x)
                     : kKind == OpKind::Ceil ? std::ceil(n.x)
                     : kKind == OpKind::Cast ? std::trunc(n.x)
                                             : std::nearbyint(n.x);
    if (!(std::abs(y) < 0x1p63)) return c.fail(Code::BadValue, "the number is too large");
    return TorchValue(static_cast<int64_t>(y));
  }
  EC_TRY(const TensorRef ref, as_tensor(c.site(), n.a));
  if (!is_float(ref.tensor->dtype())) return n.a;
  ec::Tensor* x = ref.tensor;
  if constexpr (kKind != OpKind::Cast) {
    EC_TRY(x, c.add(kKind, {x}));
  }
  EC_TRY(x, c.cast(x, DType::I64));
  return TorchValue(SymScalar{x, Kind::Int});
}

Result<std::vector<TorchValue>> nothing(Call&) { return std::vector<TorchValue>{}; }

#define EC_NUMBERS(name, result) name "(Scalar a, Scalar b) -> " result

constexpr OperatorRow kRows[] = {
    {"aten::size(Tensor self) -> int[]", sizes, true},
    {"aten::size.int(Tensor self, int dim) -> int", size, true},
    {"aten::sym_size(Tensor self) -> SymInt[]", sizes, true},
    {"aten::sym_size.int(Tensor self, int dim) -> SymInt", size, true},
    {"prim::shape(Tensor self) -> int[]", sizes, true},
    {"aten::dim(Tensor self) -> int", dim, true},
    {"prim::ndim(Tensor a) -> int", dim, true},
    {"aten::numel(Tensor self) -> int", numel, true},
    {"aten::sym_numel(Tensor self) -> SymInt", numel, true},
    {"aten::len.Tensor(Tensor t) -> int", len, true},
    {"aten::stride(Tensor self) -> int[]", strides, true},
    {"aten::stride.int(Tensor self, int dim) -> int", strides, true},
    {"aten::sym_stride(Tensor self) -> SymInt[]", strides, true},
    {"aten::sym_stride.int(Tensor self, int dim) -> SymInt", strides, true},
    {"aten::storage_offset(Tensor self) -> int", always<0>, true},
    {"aten::sym_storage_offset(Tensor self) -> SymInt", always<0>, true},
    {"aten::is_contiguous(Tensor self) -> bool", always_bool<true>, true},
    {"aten::is_floating_point(Tensor self) -> bool", is_floating_point, true},
    {"aten::is_complex(Tensor self) -> bool", always_bool<false>, true},
    {"aten::is_nonzero(Tensor self) -> bool", convert<Kind::Bool>},
    {"aten::item(Tensor self) -> Scalar", item},
    {"aten::_local_scalar_dense(Tensor self) -> Scalar", item},
    {"aten::Int.Scalar(Scalar a) -> int", convert<Kind::Int>},
    {"aten::Float.Scalar(Scalar a) -> float", convert<Kind::Float>},
    {"aten::Bool.Tensor(Tensor a) -> bool", convert<Kind::Bool>},
    {"aten::IntImplicit(Tensor a) -> int", convert<Kind::Int>},
    {"aten::FloatImplicit(Tensor a) -> float", convert<Kind::Float>},
    {"aten::ScalarImplicit(Tensor self) -> Scalar", item},
    {"aten::sym_float(Scalar a) -> float", convert<Kind::Float>},
    {"prim::dtype(Tensor a) -> int", dtype, true},
    {"prim::device(Tensor a) -> Device", device, true},
    {"prim::layout(Tensor a) -> Layout", always<0>, true},
    {"prim::requires_grad(Tensor a) -> bool", always_bool<true>, true},
    {"prim::is_cuda(Tensor a) -> bool", always_bool<false>, true},
    {"prim::is_cpu(Tensor a) -> bool", always_bool<true>, true},
    {"prim::is_meta(Tensor a) -> bool", always_bool<false>, true},
    {"prim::is_mps(Tensor a) -> bool", always_bool<false>, true},
    {"prim::is_nested(Tensor a) -> bool", always_bool<false>, true},
    {"prim::is_sparse(Tensor a) -> bool", always_bool<false>, true},
    {"prim::is_quantized(Tensor a) -> bool", is_quantized, true},
    {EC_NUMBERS("aten::add", "Scalar"), add},
    {EC_NUMBERS("aten::sub", "Scalar"), sub},
    {EC_NUMBERS("aten::mul", "Scalar"), mul},
    {EC_NUMBERS("aten::div", "float"), div},
    {EC_NUMBERS("aten::floordiv", "Scalar"), floordiv},
    {EC_NUMBERS("aten::remainder", "Scalar"), mod},
    {EC_NUMBERS("aten::pow", "Scalar"), pow},
    {EC_NUMBERS("aten::eq", "bool"), compare<OpKind::Equal>},
    {EC_NUMBERS("aten::ne", "bool"), not_equal},
    {EC_NUMBERS("aten::lt", "bool"), compare<OpKind::Less>},
    {EC_NUMBERS("aten::le", "bool"), compare<OpKind::LessOrEqual>},
    {EC_NUMBERS("aten::gt", "bool"), compare<OpKind::Greater>},
    {EC_NUMBERS("aten::ge", "bool"), compare<OpKind::GreaterOrEqual>},
    {EC_NUMBERS("prim::max", "Scalar"), extreme<true>},
    {EC_NUMBERS("prim::min", "Scalar"), extreme<false>},
    {"aten::__and__.bool(bool a, bool b) -> bool", logical<OpKind::And>},
    {"aten::__or__.bool(bool a, bool b) -> bool", logical<OpKind::Or>},
    {"aten::__not__(bool self) -> bool", logical_not},
    {"aten::neg.Scalar(Scalar a) -> Scalar", neg},
    {"aten::sqrt.Scalar(Scalar a) -> Scalar", sqrt},
    {"aten::floor.Scalar(Scalar a) -> Scalar", rounded<OpKind::Floor>},
    {"aten::ceil.Scalar(Scalar a) -> Scalar", rounded<OpKind::Ceil>},
    {"aten::round.Scalar(Scalar a) -> Scalar", rounded<OpKind::Round>},
    {"aten::trunc.Scalar(Scalar a) -> Scalar", rounded<OpKind::Cast>},
    {"aten::_assert_async(Tensor self) -> ()", nothing},
    {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", nothing},
    {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", nothing},
    {"aten::_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, "
     "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
     nothing},
    {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", nothing},
    {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
     nothing},
};

}  // namespace

const std::span<const OperatorRow> kScalarRows = kRows;

}  // namespace ec::torch
