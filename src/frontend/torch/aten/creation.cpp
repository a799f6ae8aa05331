// New tensors, and conversion of element types.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/torch/aten/table.h"
#include "ops/convert.h"

namespace ec::torch {
namespace {

constexpr int64_t kMaxConstant = 1 << 22;  // elements

Result<ec::Tensor*> constant(Call& c, DType dtype, const Shape& shape,
                             const std::vector<double>& values) {
  if (!c.make_room(values.size() * element_size(dtype)))
    return c.fail(Code::TooLarge, "the program computes too many constants");
  Buffer bytes = Buffer::allocate(values.size() * element_size(dtype));
  const std::vector<int64_t> sizes = shape.sizes();
  store<double>(MutableView{dtype, sizes, bytes.data(), nullptr}, values);
  return c.graph().add_constant("", TensorType(dtype, shape), std::move(bytes).to_blob());
}

// The type of a Python number where none is given: bool, i64, or f32.
DType number_dtype(const TorchValue& value) {
  if (const ec::Tensor* tensor = value.tensor()) return tensor->dtype();
  if (const auto* symbol = value.get_if<SymScalar>())
    return symbol->kind == SymScalar::Kind::Float ? DType::F32 : symbol->tensor->dtype();
  return value.is<double>() ? DType::F32 : value.is<bool>() ? DType::Bool : DType::I64;
}

Result<ec::Tensor*> filled(Call& c, ec::Tensor* shape, const TorchValue& value, DType dtype) {
  EC_TRY(const TensorRef number, as_tensor(c.site(), value));
  EC_TRY(ec::Tensor * element, c.cast(number.tensor, dtype));
  return c.fill(shape, element);
}

// zeros, ones, empty (as zeros): of the size that is given.
template <int kValue>
Result<ec::Tensor*> of_size(Call& c) {
  EC_TRY(ec::Tensor * shape, c.sizes("size"));
  return filled(c, shape, kValue, c.dtype("dtype", DType::F32));
}

Result<ec::Tensor*> full(Call& c) {
  EC_TRY(ec::Tensor * shape, c.sizes("size"));
  const TorchValue& value = c.arg("fill_value");
  return filled(c, shape, value, c.dtype("dtype", number_dtype(value)));
}

// new_zeros and its kin: the element type of another tensor.
template <int kValue>
Result<ec::Tensor*> new_of_size(Call& c) {
  EC_TRY(ec::Tensor * shape, c.sizes("size"));
  return filled(c, shape, kValue, c.dtype("dtype", c.tensor("self")->dtype()));
}

Result<ec::Tensor*> new_full(Call& c) {
  EC_TRY(ec::Tensor * shape, c.sizes("size"));
  return filled(c, shape, c.arg("fill_value"), c.dtype("dtype", c.tensor("self")->dtype()));
}

template <int kValue>
Result<ec::Tensor*> like(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * shape, c.shape_of(x));
  return filled(c, shape, kValue, c.dtype("dtype", x->dtype()));
}

Result<ec::Tensor*> full_like(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * shape, c.shape_of(x));
  return filled(c, shape, c.arg("fill_value"), c.dtype("dtype", x->dtype()));
}

Result<ec::Tensor*> arange(Call& c) {
  const TorchValue start = c.has_arg("start") ? c.arg("start") : TorchValue(0);
  const TorchValue step = c.has_arg("step") ? c.arg("step") : TorchValue(1);
  const TorchValue& end = c.arg("end");
  DType natural = DType::I64;
  for (const TorchValue* value : {&start, &end, &step})
    if (is_float(number_dtype(*value))) natural = DType::F32;
  const DType dtype = c.dtype("dtype", natural);
  const auto first = known_number(start), last = known_number(end), delta = known_number(step);
  if (first && last && delta) {
    if (*delta == 0) return c.fail(Code::BadValue, "the step is zero");
    const double count = std::max(std::ceil((*last - *first) / *delta), 0.0);
    if (!(count <= static_cast<double>(kMaxConstant)))
      return c.fail(Code::TooLarge, "a range of so many elements");
    std::vector<double> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = *first + static_cast<double>(i) * *delta;
    return constant(c, dtype, Shape{static_cast<int64_t>(values.size())}, values);
  }
  Tensors operands;
  for (const TorchValue* value : {&start, &end, &step}) {
    EC_TRY(const TensorRef ref, as_tensor(c.site(), *value));
    EC_TRY(ec::Tensor * operand, c.cast(ref.tensor, natural));
    operands.push_back(operand);
  }
  EC_TRY(ec::Tensor * y, c.add(OpKind::Range, std::move(operands)));
  return c.cast(y, dtype);
}

// Computed from both ends, as PyTorch does.
std::vector<double> spaced(double start, double end, int64_t steps) {
  std::vector<double> values(static_cast<size_t>(steps));
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  for (int64_t i = 0; i < steps; ++i)
    values[static_cast<size_t>(i)] = i < steps / 2 || steps == 1
                                         ? start + step * static_cast<double>(i)
                                         : end - step * static_cast<double>(steps - i - 1);
  return values;
}

Result<ec::Tensor*> linspace(Call& c) {
  const int64_t steps = c.integer("steps", 100);
  if (steps < 0 || steps > kMaxConstant) return c.fail(Code::BadValue, "steps out of range");
  return constant(c, c.dtype("dtype", DType::F32), Shape{steps},
                  spaced(c.number("start"), c.number("end"), steps));
}

Result<ec::Tensor*> logspace(Call& c) {
  const int64_t steps = c.integer("steps", 100);
  if (steps < 0 || steps > kMaxConstant) return c.fail(Code::BadValue, "steps out of range");
  std::vector<double> values = spaced(c.number("start"), c.number("end"), steps);
  const double base = c.number("base");
  for (double& value : values) value = std::pow(base, value);
  return constant(c, c.dtype("dtype", DType::F32), Shape{steps}, values);
}

Result<ec::Tensor*> eye(Call& c) {
  const int64_t rows = c.integer("n"), columns = c.has_arg("m") ? c.integer("m") : rows;
  if (rows < 0 || columns < 0 || rows > 65536 || columns > 65536 || rows * columns > kMaxConstant)
    return c.fail(Code::BadValue, "sizes out of range");
  std::vector<double> values(static_cast<size_t>(rows * columns), 0.0);
  for (int64_t i = 0; i < std::min(rows, columns); ++i)
    values[static_cast<size_t>(i * columns + i)] = 1;
  return constant(c, c.dtype("dtype", DType::F32), Shape{rows, columns}, values);
}

Result<ec::Tensor*> scalar_tensor(Call& c) {
  const TorchValue& value = c.arg(c.schema().args.front().name);
  EC_TRY(const TensorRef number, as_tensor(c.site(), value));
  const DType natural = c.schema().name == "aten::scalar_tensor" ? DType::F32 : number_dtype(value);
  return c.cast(number.tensor, c.dtype("dtype", natural));
}

// torch.tensor([[1, 2], [3, 4]]): nested lists of numbers, perhaps with open ones among them.
Result<ec::Tensor*> nested(Call& c, const TorchValue& value, DType dtype, int depth) {
  const auto* items = value.items();
  if (items == nullptr) {
    EC_TRY(const TensorRef number, as_tensor(c.site(), value));
    return c.cast(number.tensor, dtype);
  }
  if (depth > 8) return c.fail(Code::TooDeep, "lists are nested too deep");
  if (items->empty()) return constant(c, dtype, Shape{0}, {});
  // Numbers that a double holds as they are need no operations.
  std::vector<double> numbers;
  for (const TorchValue& item : *items) {
    const auto number = item.is_number() ? known_number(item) : std::nullopt;
    if (!number || (!item.is<double>() && std::abs(*number) > 0x1p53)) break;
    numbers.push_back(*number);
  }
  if (numbers.size() == items->size())
    return constant(c, dtype, Shape{static_cast<int64_t>(numbers.size())}, numbers);
  Tensors parts;
  for (const TorchValue& item : *items) {
    EC_TRY(ec::Tensor * part, nested(c, item, dtype, depth + 1));
    EC_TRY(part, c.unsqueeze(part, {0}));
    parts.push_back(part);
  }
  return c.concat(std::move(parts), 0);
}

const TorchValue& first_number(const TorchValue& value) {
  const auto* items = value.items();
  return items != nullptr && !items->empty() ? first_number(items->front()) : value;
}

Result<ec::Tensor*> tensor(Call& c) {
  const TorchValue& data = c.arg("data");
  const TorchValue& first = first_number(data);
  return nested(c, data, c.dtype("dtype", first.items() ? DType::F32 : number_dtype(first)), 0);
}

// --- windows of signal processing ----------------------------------------------------------------

Result<ec::Tensor*> window(Call& c, double a0, double a1, double a2) {
  const int64_t length = c.integer("window_length");
  if (length < 0 || length > kMaxConstant) return c.fail(Code::BadValue, "length out of range");
  const bool periodic = !c.has_arg("periodic") || c.boolean("periodic");
  const double period = static_cast<double>(periodic ? length : std::max<int64_t>(length - 1, 1));
  std::vector<double> values(static_cast<size_t>(length), 1.0);
  for (size_t i = 0; length > 1 && i < values.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  return constant(c, c.dtype("dtype", DType::F32), Shape{length}, values);
}
Result<ec::Tensor*> hann(Call& c) { return window(c, 0.5, 0.5, 0); }
Result<ec::Tensor*> hamming(Call& c) {
  const double alpha = c.has_arg("alpha") ? c.number("alpha") : 0.54;
  return window(c, alpha, c.has_arg("beta") ? c.number("beta") : 0.46, 0);
}
Result<ec::Tensor*> blackman(Call& c) { return window(c, 0.42, 0.5, 0.08); }

// --- element types -------------------------------------------------------------------------------

Result<ec::Tensor*> to(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.cast(x, c.has_arg("dtype") ? c.dtype("dtype", x->dtype()) : x->dtype());
}

Result<ec::Tensor*> type_as(Call& c) {
  return c.cast(c.tensor("self"), c.tensor("other")->dtype());
}

template <DType kType>
Result<ec::Tensor*> to_type(Call& c) {
  return c.cast(c.tensor("self"), kType);
}

#define EC_FACTORY \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define EC_LIKE EC_FACTORY ", MemoryFormat? memory_format=None"

constexpr OperatorRow kRows[] = {
    {"aten::zeros(int[] size, *, " EC_FACTORY ") -> Tensor", of_size<0>},
    {"aten::ones(int[] size, *, " EC_FACTORY ") -> Tensor", of_size<1>},
    {"aten::empty.memory_format(int[] size, *, " EC_LIKE ") -> Tensor", of_size<0>},
    {"aten::empty_strided(int[] size, int[] stride, *, " EC_FACTORY ") -> Tensor", of_size<0>},
    {"aten::empty_permuted(int[] size, int[] physical_layout, *, " EC_FACTORY ") -> Tensor",
     of_size<0>},
    {"aten::full(int[] size, Scalar fill_value, *, " EC_FACTORY ") -> Tensor", full},
    {"aten::new_zeros(Tensor self, int[] size, *, " EC_FACTORY ") -> Tensor", new_of_size<0>},
    {"aten::new_ones(Tensor self, int[] size, *, " EC_FACTORY ") -> Tensor", new_of_size<1>},
    {"aten::new_empty(Tensor self, int[] size, *, " EC_FACTORY ") -> Tensor", new_of_size<0>},
    {"aten::new_empty_strided(Tensor self, int[] size, int[] stride, *, " EC_FACTORY ") -> Tensor",
     new_of_size<0>},
    {"aten::new_full(Tensor self, int[] size, Scalar fill_value, *, " EC_FACTORY ") -> Tensor",
     new_full},
    {"aten::zeros_like(Tensor self, *, " EC_LIKE ") -> Tensor", like<0>},
    {"aten::ones_like(Tensor self, *, " EC_LIKE ") -> Tensor", like<1>},
    {"aten::empty_like(Tensor self, *, " EC_LIKE ") -> Tensor", like<0>},
    {"aten::full_like(Tensor self, Scalar fill_value, *, " EC_LIKE ") -> Tensor", full_like},
    {"aten::arange(Scalar end, *, " EC_FACTORY ") -> Tensor", arange},
    {"aten::arange.start(Scalar start, Scalar end, *, " EC_FACTORY ") -> Tensor", arange},
    {"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " EC_FACTORY
     ") -> Tensor",
     arange},
    {"aten::linspace(Scalar start, Scalar end, int? steps=None, *, " EC_FACTORY ") -> Tensor",
     linspace},
    {"aten::logspace(Scalar start, Scalar end, int? steps=None, float base=10., *, " EC_FACTORY
     ") -> Tensor",
     logspace},
    {"aten::eye(int n, *, " EC_FACTORY ") -> Tensor", eye},
    {"aten::eye.m(int n, int m, *, " EC_FACTORY ") -> Tensor", eye},
    {"aten::scalar_tensor(Scalar s, *, " EC_FACTORY ") -> Tensor", scalar_tensor},
    {"aten::tensor(Any data, *, ScalarType? dtype=None, Device? device=None, "
     "bool requires_grad=False) -> Tensor",
     tensor},
    {"aten::as_tensor(Any data, *, ScalarType? dtype=None, Device? device=None) -> Tensor", tensor},
    {"prim::NumToTensor.Scalar(Scalar a) -> Tensor", scalar_tensor},
    {"aten::hann_window(int window_length, *, " EC_FACTORY ") -> Tensor", hann},
    {"aten::hann_window.periodic(int window_length, bool periodic, *, " EC_FACTORY ") -> Tensor",
     hann},
    {"aten::hamming_window(int window_length, *, " EC_FACTORY ") -> Tensor", hamming},
    {"aten::hamming_window.periodic(int window_length, bool periodic, *, " EC_FACTORY ") -> Tensor",
     hamming},
    {"aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
     "float beta, *, " EC_FACTORY ") -> Tensor",
     hamming},
    {"aten::blackman_window(int window_length, *, " EC_FACTORY ") -> Tensor", blackman},
    {"aten::blackman_window.periodic(int window_length, bool periodic, *, " EC_FACTORY
     ") -> Tensor",
     blackman},
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     to},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     type_as},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
     "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     to},
    {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, "
     "bool copy=False) -> Tensor(a)",
     to},
    {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, "
     "bool non_blocking=False, bool copy=False) -> Tensor(a)",
     to},
    {"aten::to.dtype_layout(Tensor(a) self, *, " EC_FACTORY
     ", bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     to},
    {"aten::_to_copy(Tensor self, *, " EC_FACTORY
     ", bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     to},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", type_as},
    {"aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", to_type<DType::F32>},
    {"aten::float(Tensor self) -> Tensor", to_type<DType::F32>},
    {"aten::double(Tensor self) -> Tensor", to_type<DType::F64>},
    {"aten::half(Tensor self) -> Tensor", to_type<DType::F16>},
    {"aten::bfloat16(Tensor self) -> Tensor", to_type<DType::BF16>},
    {"aten::long(Tensor self) -> Tensor", to_type<DType::I64>},
    {"aten::int(Tensor self) -> Tensor", to_type<DType::I32>},
    {"aten::bool(Tensor self) -> Tensor", to_type<DType::Bool>},
};

}  // namespace

const std::span<const OperatorRow> kCreationRows = kRows;

}  // namespace ec::torch
