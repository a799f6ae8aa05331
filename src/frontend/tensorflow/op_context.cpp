#include "frontend/tensorflow/op_context.h"

#include <algorithm>

#include "frontend/tensorflow/types.h"
#include "ops/convert.h"

namespace ec::tf {

OpContext::OpContext(Importer& importer, Frame& frame, const Node& node,
                     std::vector<TfValue> inputs, Location location)
    : OpBuilder(frame.site.graph, std::move(location), &frame.site.weights),
      importer_(importer),
      frame_(frame),
      node_(node),
      inputs_(std::move(inputs)),
      first_tensor_id_(frame.site.graph.tensor_id_bound()) {}

std::vector<ec::Tensor*> OpContext::tensors() const {
  std::vector<ec::Tensor*> all;
  for (const TfValue& input : inputs_) all.push_back(input.tensor);
  return all;
}

Result<size_t> OpContext::rank(size_t i) const {
  if (in(i)->shape()) return in(i)->shape()->rank();
  return fail(Code::DynamicShape, "the rank of input " + std::to_string(i) + " is not known");
}

Result<int64_t> OpContext::axis(int64_t given, size_t rank) const {
  const auto r = static_cast<int64_t>(rank);
  if (given < -r || given >= r)
    return fail(Code::BadValue, "axis " + std::to_string(given) + " is outside the " +
                                    std::to_string(rank) + " dimensions of the input");
  return given < 0 ? given + r : given;
}

Result<std::vector<int64_t>> OpContext::need_ints(size_t i, std::string_view name) const {
  if (auto values = known_ints(in(i))) return std::move(*values);
  if (in(i) != nullptr && in(i)->is_constant() && is_integer(in(i)->dtype()))
    return fail(Code::TooLarge, "input '" + std::string(name) + "' has too many numbers");
  return unsupported("input '" + std::string(name) + "' has to be constant")
      .hint(
          "give the shapes of the model's inputs with --input-shape, or export the model with "
          "fixed shapes");
}

Result<int64_t> OpContext::need_int(size_t i, std::string_view name) const {
  EC_TRY(const std::vector<int64_t> values, need_ints(i, name));
  if (values.size() != 1)
    return fail(Code::ShapeMismatch, "input '" + std::string(name) + "' has to be one number");
  return values[0];
}

Result<std::vector<float>> OpContext::need_floats(size_t i, std::string_view name) const {
  const ec::Tensor* tensor = in(i);
  if (tensor == nullptr || !tensor->is_constant() || !is_float(tensor->dtype()))
    return unsupported("input '" + std::string(name) + "' has to be constant");
  const std::vector<int64_t> sizes = tensor->shape()->sizes();
  constexpr int64_t kMost = 1 << 16;  // channels and the like
  if (count_elements(sizes) > kMost)
    return fail(Code::TooLarge, "input '" + std::string(name) + "' has too many numbers");
  std::vector<float> values(static_cast<size_t>(count_elements(sizes)));
  load<float>(ConstView{tensor->dtype(), sizes, tensor->data().bytes().data(), nullptr}, values);
  return values;
}

Result<ec::Tensor*> OpContext::as_i64(size_t i) {
  ec::Tensor* tensor = in(i);
  // Long lists are not written out once more for every node.
  constexpr size_t kMostCopied = 256;
  const auto values = known_ints(tensor);
  if (values && values->size() <= kMostCopied && tensor->type().is_static()) return ints(*values);
  EC_TRY(ec::Tensor * list, cast(tensor, DType::I64));
  if (list->shape() && list->shape()->rank() != 1) return reshape(list, {-1});
  return list;
}

Status OpContext::take_room(size_t bytes) {
  size_t& room = importer_.turned_room();
  if (bytes > room) return fail(Code::TooLarge, "the node needs too large a table");
  room -= bytes;
  return {};
}

// --- attributes ---------------------------------------------------------------------------------

std::optional<AttributeValue> OpContext::attribute(std::string_view name) const {
  const auto find = [&](std::span<const Attribute> list) -> std::optional<AttributeValue> {
    for (const Attribute& attribute : list) {
      if (attribute.name != name) continue;
      auto value = decode_attribute(attribute.value);
      if (value.ok()) return *value;
    }
    return std::nullopt;
  };
  auto value = find(node_.attributes);
  // A function's attribute is what its caller gives.
  if (value && value->kind == AttributeValue::Kind::Placeholder && frame_.call != nullptr) {
    name = value->text;
    return find(frame_.call->attributes);
  }
  return value;
}

bool OpContext::has_attr(std::string_view name) const { return attribute(name).has_value(); }

int64_t OpContext::attr_int(std::string_view name, int64_t otherwise) const {
  const auto value = attribute(name);
  return value && value->kind == AttributeValue::Kind::Integer ? value->integer : otherwise;
}

float OpContext::attr_float(std::string_view name, float otherwise) const {
  const auto value = attribute(name);
  return value && value->kind == AttributeValue::Kind::Real ? value->real : otherwise;
}

bool OpContext::attr_bool(std::string_view name, bool otherwise) const {
  const auto value = attribute(name);
  return value && value->kind == AttributeValue::Kind::Bool ? value->integer != 0 : otherwise;
}

std::string_view OpContext::attr_text(std::string_view name, std::string_view otherwise) const {
  const auto value = attribute(name);
  return value && value->kind == AttributeValue::Kind::Text ? value->text : otherwise;
}

std::vector<int64_t> OpContext::attr_ints(std::string_view name) const {
  const auto value = attribute(name);
  if (!value || value->kind != AttributeValue::Kind::List) return {};
  auto list = decode_list(value->message);
  return list.ok() ? std::move(list->integers) : std::vector<int64_t>();
}

std::vector<float> OpContext::attr_floats(std::string_view name) const {
  const auto value = attribute(name);
  if (!value || value->kind != AttributeValue::Kind::List) return {};
  auto list = decode_list(value->message);
  return list.ok() ? std::move(list->reals) : std::vector<float>();
}

DataType OpContext::attr_type(std::string_view name, DataType otherwise) const {
  const auto value = attribute(name);
  return value && value->kind == AttributeValue::Kind::Type ? static_cast<DataType>(value->integer)
                                                            : otherwise;
}

Result<DType> OpContext::attr_dtype(std::string_view name, DataType otherwise) const {
  const DataType type = attr_type(name, otherwise);
  if (const auto dtype = to_dtype(type)) return *dtype;
  return fail(Code::UnsupportedType, "type " + data_type_name(type) + " is not supported");
}

PartialShape OpContext::attr_shape(std::string_view name) const {
  const auto value = attribute(name);
  if (!value || value->kind != AttributeValue::Kind::Shape) return std::nullopt;
  const auto shape = decode_shape(value->message);
  return shape.ok() ? *shape : std::nullopt;
}

std::optional<Tensor> OpContext::attr_tensor(std::string_view name) const {
  const auto value = attribute(name);
  if (!value || value->kind != AttributeValue::Kind::Tensor) return std::nullopt;
  auto tensor = decode_tensor(value->message);
  if (!tensor.ok()) return std::nullopt;
  return std::move(*tensor);
}

std::vector<std::string_view> OpContext::attr_functions(std::string_view name) const {
  const auto value = attribute(name);
  if (!value) return {};
  if (value->kind == AttributeValue::Kind::Function) return {value->text};
  if (value->kind != AttributeValue::Kind::List) return {};
  auto list = decode_list(value->message);
  return list.ok() ? std::move(list->functions) : std::vector<std::string_view>();
}

// --- results ------------------------------------------------------------------------------------

Status OpContext::finish(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs) {
  EC_TRY(ec::Tensor * y, add(kind, std::move(inputs), std::move(attrs)));
  return set(0, y);
}

Status OpContext::set(size_t i, ec::Tensor* tensor, bool complex) {
  // Converters count dimensions before the one of the parts, which an axis of the file may have cut
  // or moved.
  if (const auto& shape = tensor->shape(); complex && shape) {
    const size_t rank = shape->rank();
    if (rank == 0 || ((*shape)[rank - 1].is_static() && (*shape)[rank - 1].size() != 2))
      return fail(Code::ShapeMismatch,
                  "the node takes complex numbers apart: the result is " + tensor->type().text());
  }
  // What this node made carries its name.
  if (tensor->id() >= first_tensor_id_ && !tensor->is_constant()) {
    std::string name(location().name());
    if (i > 0) name += ":" + std::to_string(i);
    if (!name.empty() && tensor->name() != name) graph().rename(tensor, std::move(name));
  }
  return set_value(i, TfValue::of(tensor, complex));
}

Status OpContext::set_value(size_t i, TfValue value) {
  if (i >= results_.size()) results_.resize(i + 1);
  results_[i] = value;
  return {};
}

}  // namespace ec::tf
