#include "frontend/coreml/op_call.h"

#include <cstring>

#include "frontend/coreml/types.h"
#include "frontend/known_values.h"
#include "ops/convert.h"
#include "support/checked.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

std::string named(std::string_view parameter) { return "'" + std::string(parameter) + "'"; }

// A stored value as the kernels' helpers read it. Nothing: no numbers of whole bytes.
std::optional<ConstView> view_of(const coreml::Value& value) {
  const auto dtype = to_dtype(value.type.element);
  if (value.type.kind != coreml::ValueType::Kind::Tensor || value.type.variadic || !dtype ||
      coreml::bits_of(value.type.element) % 8 != 0)
    return std::nullopt;
  const auto count = checked_extent(value.type.dims, 1);
  if (!count) return std::nullopt;
  size_t bytes = static_cast<size_t>(*count) * element_size(*dtype);
  for (const int64_t dim : value.type.dims)
    if (dim == 0) bytes = 0;
  if (value.data.size() != bytes) return std::nullopt;
  return ConstView{*dtype, value.type.dims, value.data.bytes().data(), nullptr};
}

// The text of a scalar.
std::optional<std::string> stored_text(const coreml::Value& value) {
  if (value.type.element != coreml::DataType::String || value.strings.size() != 1)
    return std::nullopt;
  return value.strings.front();
}

}  // namespace

std::optional<Ints> stored_ints(const coreml::Value& value) {
  if (value.type.kind == coreml::ValueType::Kind::Tuple ||
      value.type.kind == coreml::ValueType::Kind::List) {
    Ints all;
    for (const coreml::Value& item : value.items) {
      const auto part = stored_ints(item);
      if (!part) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
  auto view = view_of(value);
  if (!view || (!is_integer(view->dtype) && view->dtype != DType::Bool)) return std::nullopt;
  const Blob aligned = value.data.aligned();
  view->data = aligned.bytes().data();
  Ints values(static_cast<size_t>(view->count()));
  load<int64_t>(*view, values);
  return values;
}

std::optional<double> stored_number(const coreml::Value& value) {
  auto view = view_of(value);
  if (!view || view->count() != 1) return std::nullopt;
  const Blob aligned = value.data.aligned();
  view->data = aligned.bytes().data();
  double number = 0;
  load<double>(*view, std::span(&number, 1));
  return number;
}

// --- parameters ----------------------------------------------------------------------------------

bool OpCall::has(std::string_view parameter) const {
  const auto* bindings = op_.input(parameter);
  return (bindings != nullptr && !bindings->empty()) || op_.attribute(parameter) != nullptr;
}

const MilValue* OpCall::value(std::string_view parameter, size_t i) const {
  const auto* bindings = op_.input(parameter);
  if (bindings == nullptr || i >= bindings->size() || (*bindings)[i].literal != nullptr)
    return nullptr;
  return scope_.find((*bindings)[i].name);
}

const coreml::Value* OpCall::stored(std::string_view parameter) const {
  if (const auto* bindings = op_.input(parameter); bindings != nullptr && bindings->size() == 1) {
    if ((*bindings)[0].literal != nullptr) return (*bindings)[0].literal.get();
    const MilValue* found = scope_.find((*bindings)[0].name);
    return found != nullptr && found->kind == MilValue::Kind::Constant ? found->constant : nullptr;
  }
  return op_.attribute(parameter);
}

Tensor* OpCall::tensor_of(const MilValue& value, std::string_view parameter) {
  if (value.kind == MilValue::Kind::Tensor) return value.tensor;
  if (value.kind != MilValue::Kind::Constant)
    return fail(Code::UnsupportedType, named(parameter) + " is no tensor of numbers");
  auto made = importer_.constant(scope_.site, *value.constant, "");
  if (made.ok()) return *made;
  remember(std::move(made).error());
  return fail(Code::UnsupportedType, "");
}

Tensor* OpCall::maybe(std::string_view parameter) {
  return has(parameter) ? in(parameter) : nullptr;
}

Tensor* OpCall::in(std::string_view parameter) {
  const auto* bindings = op_.input(parameter);
  if (bindings != nullptr && bindings->size() == 1 && (*bindings)[0].literal == nullptr)
    if (const MilValue* found = value(parameter)) return tensor_of(*found, parameter);
  if (const coreml::Value* found = stored(parameter))
    return tensor_of(MilValue::of(found), parameter);
  return fail(Code::BadArity, "the parameter " + named(parameter) + " has to be one value");
}

Tensor* OpCall::like_type(std::string_view parameter, const Tensor* x) {
  Tensor* y = maybe(parameter);
  return y == nullptr || y->dtype() == x->dtype() ? y : cast(y, x->dtype());
}

Tensors OpCall::list(std::string_view parameter) {
  const auto* bindings = op_.input(parameter);
  Tensors all;
  if (bindings == nullptr || bindings->empty()) {
    fail(Code::BadArity, "the parameter " + named(parameter) + " is missing");
    return all;
  }
  for (size_t i = 0; i < bindings->size(); ++i) {
    const MilValue* found = value(parameter, i);
    const coreml::Value* literal = (*bindings)[i].literal.get();
    all.push_back(literal != nullptr ? tensor_of(MilValue::of(literal), parameter)
                  : found != nullptr ? tensor_of(*found, parameter)
                                     : fail(Code::UndefinedName, "an operand is not defined"));
  }
  return all;
}

std::optional<Ints> OpCall::known(std::string_view parameter) {
  const auto* bindings = op_.input(parameter);
  if (bindings == nullptr || bindings->size() == 1) {
    if (const coreml::Value* found = stored(parameter)) return stored_ints(*found);
    const MilValue* found = value(parameter);
    if (found == nullptr || found->kind != MilValue::Kind::Tensor) return std::nullopt;
    return known_ints(found->tensor);
  }
  Ints all;
  for (size_t i = 0; i < bindings->size(); ++i) {
    const MilValue* found = value(parameter, i);
    const coreml::Value* literal = (*bindings)[i].literal.get();
    if (found != nullptr && found->kind == MilValue::Kind::Constant) literal = found->constant;
    const auto part = literal != nullptr ? stored_ints(*literal) : std::nullopt;
    if (!part) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

Ints OpCall::ints(std::string_view parameter) {
  if (auto values = known(parameter)) return std::move(*values);
  remember(Error(Code::UnsupportedOpForm, named(parameter) + " has to be known integers")
               .hint("fix the sizes of the inputs with --input-shape"));
  return {};
}

Ints OpCall::ints(std::string_view parameter, Ints otherwise) {
  return has(parameter) ? ints(parameter) : std::move(otherwise);
}

int64_t OpCall::integer(std::string_view parameter) {
  const Ints values = ints(parameter);
  if (values.size() == 1) return values[0];
  if (ok()) fail(Code::ShapeMismatch, named(parameter) + " has to be one number");
  return 0;
}

int64_t OpCall::integer(std::string_view parameter, int64_t otherwise) {
  return has(parameter) ? integer(parameter) : otherwise;
}

double OpCall::number(std::string_view parameter) {
  const coreml::Value* found = stored(parameter);
  std::optional<double> number = found != nullptr ? stored_number(*found) : std::nullopt;
  if (const MilValue* computed = value(parameter);
      computed != nullptr && computed->kind == MilValue::Kind::Tensor)
    number = known_scalar(computed->tensor);
  if (number) return *number;
  fail(Code::UnsupportedOpForm, named(parameter) + " has to be one number that is known");
  return 0;
}

double OpCall::number(std::string_view parameter, double otherwise) {
  return has(parameter) ? number(parameter) : otherwise;
}

bool OpCall::flag(std::string_view parameter, bool otherwise) {
  return has(parameter) ? integer(parameter) != 0 : otherwise;
}

std::string OpCall::text(std::string_view parameter, std::string_view otherwise) {
  if (!has(parameter)) return std::string(otherwise);
  const coreml::Value* found = stored(parameter);
  if (const auto text = found != nullptr ? stored_text(*found) : std::nullopt) return *text;
  fail(Code::BadAttribute, named(parameter) + " has to be a text");
  return std::string(otherwise);
}

DType OpCall::dtype(std::string_view parameter, std::string_view otherwise) {
  const std::string name = text(parameter, otherwise);
  const auto type = coreml::type_named(name);
  const auto dtype = type ? to_dtype(*type) : std::nullopt;
  if (dtype) return *dtype;
  fail(Code::UnsupportedType, "numbers of type '" + printable(name, 40) + "'");
  return DType::F32;
}

Tensor* OpCall::as_i64(Tensor* x) {
  if (x->is_constant())
    if (const auto values = known_ints(x); values && x->shape()->rank() <= 1)
      return int_list(*values);
  Tensor* wide = cast(x, DType::I64);
  return wide->shape() && wide->shape()->rank() == 0 ? reshape(wide, {1}) : wide;
}

int64_t OpCall::axis_of(const Tensor* x, std::string_view parameter, int64_t otherwise) {
  return axis(integer(parameter, otherwise), rank(x));
}

Ints OpCall::axes_of(const Tensor* x, std::string_view parameter) {
  const int64_t dims = rank(x);
  if (has(parameter)) return axes(ints(parameter), dims);
  Ints all;
  for (int64_t i = 0; i < dims; ++i) all.push_back(i);
  return all;
}

bool OpCall::afford(int64_t elements) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (elements >= 0 && elements < kMost &&
      importer_.may_expand(static_cast<size_t>(elements) * sizeof(int64_t)))
    return true;
  fail(Code::TooLarge, "the operation needs larger constants than the files justify");
  return false;
}

// --- results -------------------------------------------------------------------------------------

DType OpCall::declared_dtype(size_t i) {
  const auto dtype =
      i < num_outputs() ? to_dtype(op_.outputs[i].type.element) : std::optional<DType>();
  if (dtype) return *dtype;
  fail(Code::UnsupportedType, "the type of a result is not known");
  return DType::F32;
}

void OpCall::bind(size_t i, MilValue value) {
  if (i < results_.size()) results_[i] = std::move(value);
}

}  // namespace ec::mil
