#include "fuzz/op/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/convert.h"
#include "support/strings.h"

namespace ec::fuzz {
namespace {

// Inputs of one size share a symbol, so that what is broadcast or added stays of equal size.
constexpr std::string_view kSymbolPrefix = "size_";

size_t count_of(const Sizes& sizes) { return static_cast<size_t>(count_elements(sizes)); }

}  // namespace

Value value_of(DType dtype, const Sizes& sizes, const std::vector<double>& elements) {
  Buffer buffer = Buffer::allocate(count_of(sizes) * element_size(dtype));
  store<double>(MutableView{dtype, sizes, buffer.data(), nullptr}, elements);
  return Value(dtype, sizes, std::move(buffer).to_blob());
}

int64_t Builder::size(int64_t most) {
  if (random_.chance(1)) return 0;
  return random_.pick(1, most);
}

Sizes Builder::shape(int64_t rank) {
  Sizes sizes;
  for (int64_t d = 0; d < rank; ++d) sizes.push_back(size(rank > 4 ? 3 : 6));
  return sizes;
}

std::optional<Sizes> Builder::sizes_of(const Tensor* tensor) const {
  if (!tensor->shape()) return std::nullopt;
  Sizes sizes;
  for (const Dim& dim : *tensor->shape()) {
    if (dim.is_static()) {
      sizes.push_back(dim.size());
      continue;
    }
    if (!dim.is_symbol() || !dim.symbol_name().starts_with(kSymbolPrefix)) return std::nullopt;
    const auto number = parse_int(dim.symbol_name().substr(kSymbolPrefix.size()));
    if (!number) return std::nullopt;
    sizes.push_back(*number);
  }
  return sizes;
}

Sizes Builder::broadcastable(Sizes sizes) {
  for (int64_t& size : sizes)
    if (random_.chance(25)) size = 1;
  const auto dropped =
      static_cast<std::ptrdiff_t>(random_.chance(30) ? random_.index(sizes.size() + 1) : 0);
  sizes.erase(sizes.begin(), sizes.begin() + dropped);
  return sizes;
}

// --- values
// --------------------------------------------------------------------------------------

Value Builder::random_value(DType dtype, const Sizes& sizes) {
  std::vector<double> elements(count_of(sizes));
  // Quarters are exact in every float type; other numbers show wrong orders of rounding.
  const bool exact = random_.chance(50);
  for (double& element : elements) {
    if (is_float(dtype))
      element = exact ? static_cast<double>(random_.pick(-8, 8)) / 4 : random_.unit() * 4 - 2;
    else if (dtype == DType::Bool)
      element = static_cast<double>(random_.pick(0, 1));
    else if (bit_width(dtype) <= 8)
      element = static_cast<double>(
          random_.pick(lowest_integer(dtype), static_cast<int64_t>(highest_integer(dtype))));
    else
      element = static_cast<double>(random_.pick(is_signed_integer(dtype) ? -20 : 0, 20));
  }
  return value_of(dtype, sizes, elements);
}

int64_t Builder::hostile_number() {
  if (random_.chance(70)) return random_.pick(-3, 5);
  return random_.one_of<int64_t>({INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1,
                                  int64_t{1} << 62, -(int64_t{1} << 62), int64_t{1} << 32,
                                  INT32_MAX, INT32_MIN, 1000, -1000, 65537, 127, 255, -128});
}

double Builder::hostile_real() {
  if (random_.chance(70)) return static_cast<double>(random_.pick(-8, 8)) / 4;
  return random_.one_of<double>({0.0, -0.0, 1e30, -1e30, 1e-30, INFINITY, -INFINITY, NAN, 9.3e18,
                                 3e38, 1e-45, 65504.0, 2147483648.0});
}

Value Builder::hostile_value(DType dtype, const Sizes& sizes) {
  if (is_float(dtype)) {
    std::vector<double> elements(count_of(sizes));
    for (double& element : elements) element = hostile_real();
    return value_of(dtype, sizes, elements);
  }
  std::vector<int64_t> elements(count_of(sizes));
  for (int64_t& element : elements) element = hostile_number();
  Buffer buffer = Buffer::allocate(elements.size() * element_size(dtype));
  store<int64_t>(MutableView{dtype, sizes, buffer.data(), nullptr}, elements);
  return Value(dtype, sizes, std::move(buffer).to_blob());
}

DType Builder::any_type() {
  static const std::vector<DType> kAll = {
#define EC_DTYPE(name, text, bytes, bits) DType::name,
      EC_FOR_EACH_DTYPE(EC_DTYPE)
#undef EC_DTYPE
  };
  return random_.chance(50) ? random_.one_of({DType::F32, DType::I64, DType::I32})
                            : random_.one_of(kAll);
}

// --- tensors
// -------------------------------------------------------------------------------------

TensorType Builder::input_type(const Value& value) {
  TensorType type = value.type();
  if (!options_.open_sizes) return type;
  for (size_t d = 0; d < type.shape->rank(); ++d)
    if (random_.chance(40))
      (*type.shape)[d] = Dim::symbol(std::string(kSymbolPrefix) + std::to_string(value.shape[d]));
  return type;
}

Tensor* Builder::given(Value value, bool constant, std::optional<QuantParams> quant) {
  if (constant || options_.is_body) {
    TensorType type = value.type();
    type.quant = std::move(quant);
    return graph_.add_constant("", std::move(type), std::move(value.data));
  }
  TensorType type = input_type(value);
  type.quant = std::move(quant);
  Tensor* tensor = graph_.add_input("x" + std::to_string(graph_.inputs().size()), std::move(type));
  options_.values->push_back(std::move(value));
  return tensor;
}

Tensor* Builder::made(Value value, int constant_percent, std::optional<QuantParams> quant) {
  const bool constant = random_.chance(constant_percent);
  return given(std::move(value), constant, std::move(quant));
}

QuantParams Builder::parameters(DType dtype) {
  QuantParams quant;
  quant.scales = {static_cast<float>(random_.pick(1, 64)) / 1024.0f};
  const bool symmetric = dtype == DType::I16 || random_.chance(20);
  quant.zero_points = {
      symmetric ? (dtype == DType::U8 ? 128 : 0)
                : static_cast<int32_t>(random_.pick(lowest_integer(dtype),
                                                    static_cast<int64_t>(highest_integer(dtype))))};
  return quant;
}

Tensor* Builder::of_type(DType dtype, const Sizes& sizes) {
  const auto fits = [&](const Tensor& tensor) {
    return tensor.dtype() == dtype && !tensor.type().quant && sizes_of(&tensor) == sizes;
  };
  if (random_.chance(60))
    if (Tensor* tensor = existing(fits)) return tensor;
  Tensor* tensor = made(random_value(dtype, sizes), 35);
  keep(tensor);
  return tensor;
}

Tensor* Builder::floats(const Sizes& sizes) { return of_type(options_.real, sizes); }

Tensor* Builder::positive(const Sizes& sizes) {
  std::vector<double> elements(count_of(sizes));
  for (double& element : elements) element = random_.unit() * 2 + 0.1;
  return made(value_of(options_.real, sizes, elements), 80);
}

Tensor* Builder::reals(const Sizes& sizes) {
  if (!options_.stored) return floats(sizes);
  const auto fits = [&](const Tensor& tensor) {
    return tensor.dtype() == *options_.stored && tensor.type().quant && sizes_of(&tensor) == sizes;
  };
  if (random_.chance(60))
    if (Tensor* tensor = existing(fits)) return tensor;
  QuantParams quant = parameters(*options_.stored);
  Tensor* tensor = made(random_value(*options_.stored, sizes), 25, std::move(quant));
  keep(tensor);
  return tensor;
}

Tensor* Builder::reals(int64_t least_rank, int64_t most_rank) {
  const DType wanted = options_.stored.value_or(options_.real);
  const auto fits = [&](const Tensor& tensor) {
    const auto sizes = sizes_of(&tensor);
    return tensor.dtype() == wanted && tensor.type().quant.has_value() == is_quantised() && sizes &&
           static_cast<int64_t>(sizes->size()) >= least_rank &&
           static_cast<int64_t>(sizes->size()) <= most_rank;
  };
  if (random_.chance(75))
    if (Tensor* tensor = existing(fits)) return tensor;
  return reals(shape(least_rank, most_rank));
}

Tensor* Builder::weights(const Sizes& sizes, int32_t channel_axis) {
  if (!options_.stored) {
    return made(random_value(options_.real, sizes), 80);
  }
  QuantParams quant;
  const bool per_channel = random_.chance(50);
  quant.axis = per_channel ? channel_axis : -1;
  const auto channels = static_cast<size_t>(sizes[static_cast<size_t>(channel_axis)]);
  for (size_t i = 0; i < (per_channel ? channels : 1); ++i) {
    quant.scales.push_back(static_cast<float>(random_.pick(1, 64)) / 1024.0f);
    quant.zero_points.push_back(0);
  }
  if (quant.scales.empty()) quant = parameters(DType::I16);
  const DType dtype = *options_.stored == DType::U8 && !per_channel ? DType::U8 : DType::I8;
  return made(random_value(dtype, sizes), 90, std::move(quant));
}

Tensor* Builder::bias(int64_t count) {
  if (!options_.stored) return made(random_value(options_.real, {count}), 80);
  const DType dtype = *options_.stored == DType::I16 ? DType::I64 : DType::I32;
  return given(random_value(dtype, {count}), true, QuantParams{{0.001f}, {0}, -1});
}

Tensor* Builder::ints(const Sizes& sizes, const std::vector<int64_t>& values, DType dtype) {
  Buffer buffer = Buffer::allocate(values.size() * element_size(dtype));
  store<int64_t>(MutableView{dtype, sizes, buffer.data(), nullptr}, values);
  return made(Value(dtype, sizes, std::move(buffer).to_blob()), 85);
}

Tensor* Builder::ints(const std::vector<int64_t>& values) {
  return ints({static_cast<int64_t>(values.size())}, values);
}

Tensor* Builder::indices(const Sizes& sizes, int64_t limit, DType dtype) {
  std::vector<int64_t> values(count_of(sizes));
  const bool negative = random_.chance(30);
  for (int64_t& value : values)
    value = limit == 0 ? 0 : random_.pick(negative ? -limit : 0, limit - 1);
  return ints(sizes, values, dtype);
}

Tensor* Builder::typed_ints(const Sizes& sizes, const std::vector<int64_t>& values) {
  const DType dtype = random_.chance(70) ? DType::I64 : DType::I32;
  return ints(sizes, values, dtype);
}

Tensor* Builder::positions(const Sizes& sizes, int64_t limit) {
  const DType dtype = random_.chance(70) ? DType::I64 : DType::I32;
  return indices(sizes, limit, dtype);
}

Tensor* Builder::scalar(DType dtype, double value) {
  return made(value_of(dtype, {}, {value}), 85);
}

Tensor* Builder::flag(bool value) { return scalar(DType::Bool, value ? 1.0 : 0.0); }

void Builder::give_parameters(Operation& op) {
  // What a nested graph gives has the parameters that it has there.
  for (const auto& body : op.bodies()) {
    const size_t before = op.kind() == OpKind::Loop ? 1 : 0;
    for (size_t i = 0; i < op.outputs().size() && i + before < body->outputs().size(); ++i)
      graph_.set_quant(op.output(i), body->outputs()[i + before]->type().quant);
  }
  if (!options_.stored || !op.bodies().empty()) return;
  const QuantParams* first = nullptr;
  for (const Tensor* input : op.inputs())
    if (input != nullptr && input->type().quant && first == nullptr) first = &*input->type().quant;
  if (first == nullptr) return;
  for (Tensor* output : op.outputs()) {
    if (output->dtype() != *options_.stored || output->type().quant) continue;
    const bool same = op.def().quant == QuantRule::SameAsInput && !first->per_channel();
    graph_.set_quant(output, same ? *first : parameters(*options_.stored));
  }
}

// --- attributes
// ----------------------------------------------------------------------------------

Attrs Builder::attrs_of(OpKind kind) {
  Attrs attrs = Attrs::defaults_of(op_def(kind).attrs());
  for (const Field& field : attrs.schema().fields) {
    if (random_.chance(50)) continue;
    if (field.kind == FieldKind::Bool)
      attrs.set(field, random_.chance(50));
    else if (field.kind == FieldKind::Enum)
      attrs.set(field, std::string(field.choices[random_.index(field.choices.size())]));
    else if (field.kind == FieldKind::Float)
      attrs.set(field, static_cast<double>(random_.pick(1, 16)) / 8);
  }
  return attrs;
}

FieldValue Builder::hostile_field(const Field& field, const FieldValue& now) {
  const auto length = random_.index(6);
  switch (field.kind) {
    case FieldKind::Int:
      return hostile_number();
    case FieldKind::Float:
      return hostile_real();
    case FieldKind::Bool:
      return random_.chance(50);
    case FieldKind::String:
      return random_.one_of<std::string>({"", "ij,jk->ik", "->", "...", "i", "down", "ii->i",
                                          "...i,...j->...ij", "ij,ik->", "a,b,c"});
    case FieldKind::Ints: {
      auto list = std::get<std::vector<int64_t>>(now);
      if (!list.empty() && random_.chance(60)) {
        list[random_.index(list.size())] = hostile_number();
        return list;
      }
      list.resize(length);
      for (int64_t& entry : list) entry = hostile_number();
      return list;
    }
    case FieldKind::Floats: {
      std::vector<double> list(length);
      for (double& entry : list) entry = hostile_real();
      return list;
    }
    case FieldKind::Strings:
      return std::vector<std::string>(
          length, random_.one_of<std::string>({"Tanh", "Relu", "", "no", "Sigmoid", "Affine"}));
    case FieldKind::DType:
      return std::string(dtype_name(any_type()));
    case FieldKind::Enum:
      return std::string(field.choices[random_.index(field.choices.size())]);
  }
  return int64_t{0};
}

void Builder::disturb(Attrs& attrs, int percent) {
  for (const Field& field : attrs.schema().fields)
    if (random_.chance(percent)) attrs.set(field, hostile_field(field, attrs.get(field)));
}

}  // namespace ec::fuzz
