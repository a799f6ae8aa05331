#include "frontend/onnx/node_context.h"

#include <algorithm>

#include "formats/onnx/decode.h"
#include "frontend/known_values.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/types.h"
#include "support/strings.h"

namespace ec::onnx {
namespace {

std::string_view type_name(AttributeType type) {
  constexpr std::string_view kNames[] = {"nothing",        "a float", "an int", "a string",
                                         "a tensor",       "a graph", "floats", "ints",
                                         "strings",        "tensors", "graphs", "a sparse tensor",
                                         "sparse tensors", "a type",  "types"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "an unknown type";
}

}  // namespace

NodeContext::NodeContext(Importer& importer, Scope& scope, const Frame& frame, const Node& node,
                         int64_t version, Location location, std::vector<Binding> inputs)
    : importer_(importer),
      scope_(scope),
      frame_(frame),
      node_(node),
      version_(version),
      location_(std::move(location)),
      inputs_(std::move(inputs)),
      results_(node.outputs.size()),
      first_tensor_id_(scope.graph().tensor_id_bound()) {}

std::vector<ec::Tensor*> NodeContext::tensors() const {
  std::vector<ec::Tensor*> all;
  for (size_t i = 0; i < inputs_.size(); ++i) all.push_back(in(i));
  while (!all.empty() && all.back() == nullptr) all.pop_back();
  return all;
}

Result<size_t> NodeContext::rank(size_t i) const {
  if (in(i)->shape()) return in(i)->shape()->rank();
  return fail(Code::DynamicShape, "the rank of input '" + in(i)->name() + "' is not known")
      .hint("give the shapes of the model's inputs with --input-shape");
}

std::optional<std::vector<int64_t>> NodeContext::known_ints(const ec::Tensor* tensor) {
  return ec::known_ints(tensor);
}

std::optional<double> NodeContext::known_scalar(const ec::Tensor* tensor) {
  return ec::known_scalar(tensor);
}

Result<std::vector<int64_t>> NodeContext::need_ints(size_t i, std::string_view name) const {
  if (auto values = known_ints(in(i))) return std::move(*values);
  return unsupported("input '" + std::string(name) + "' has to be constant")
      .hint("export the model with constant folding, or with fixed input shapes");
}

size_t NodeContext::num_outputs() const {
  size_t n = node_.outputs.size();
  while (n > 0 && node_.outputs[n - 1].empty()) --n;
  return n;
}

// --- attributes ---------------------------------------------------------------------------------

void NodeContext::attr_error(Error error) {
  if (!attr_error_) attr_error_.emplace(std::move(error));
}

const Attribute* NodeContext::find(std::string_view name) {
  read_.insert(name);
  for (const Attribute& attribute : node_.attributes) {
    if (attribute.name != name) continue;
    if (attribute.reference.empty()) return &attribute;
    const auto it = frame_.attributes.find(attribute.reference);
    return it == frame_.attributes.end() ? nullptr : &it->second;
  }
  return nullptr;
}

const Attribute* NodeContext::find_typed(std::string_view name, AttributeType type) {
  const Attribute* attribute = find(name);
  if (attribute == nullptr || attribute->type == type) return attribute;
  attr_error(fail(Code::BadAttribute, "attribute '" + std::string(name) + "' is " +
                                          std::string(type_name(attribute->type)) + ", should be " +
                                          std::string(type_name(type))));
  return nullptr;
}

int64_t NodeContext::attr_int(std::string_view name, int64_t fallback) {
  const Attribute* attribute = find_typed(name, AttributeType::Int);
  return attribute == nullptr ? fallback : attribute->integer;
}

int64_t NodeContext::attr_int(std::string_view name) {
  if (!has_attr(name))
    attr_error(fail(Code::BadAttribute, "attribute '" + std::string(name) + "' is missing"));
  return attr_int(name, 0);
}

float NodeContext::attr_float(std::string_view name, float fallback) {
  const Attribute* attribute = find_typed(name, AttributeType::Float);
  return attribute == nullptr ? fallback : attribute->real;
}

std::string NodeContext::attr_string(std::string_view name, std::string_view fallback) {
  const Attribute* attribute = find_typed(name, AttributeType::String);
  return std::string(attribute == nullptr ? fallback : attribute->text);
}

std::vector<int64_t> NodeContext::attr_ints(std::string_view name) {
  const Attribute* attribute = find_typed(name, AttributeType::Ints);
  if (attribute == nullptr) return {};
  Result<std::vector<int64_t>> values = attribute_ints(*attribute);
  if (!values.ok()) return attr_error(std::move(values).error()), std::vector<int64_t>{};
  return std::move(values).value();
}

std::vector<float> NodeContext::attr_floats(std::string_view name) {
  const Attribute* attribute = find_typed(name, AttributeType::Floats);
  if (attribute == nullptr) return {};
  Result<std::vector<float>> values = attribute_floats(*attribute);
  if (!values.ok()) return attr_error(std::move(values).error()), std::vector<float>{};
  return std::move(values).value();
}

std::vector<std::string> NodeContext::attr_strings(std::string_view name) {
  const Attribute* attribute = find_typed(name, AttributeType::Strings);
  if (attribute == nullptr) return {};
  Result<std::vector<std::string_view>> values = attribute_strings(*attribute);
  if (!values.ok()) return attr_error(std::move(values).error()), std::vector<std::string>{};
  return {values->begin(), values->end()};
}

DType NodeContext::attr_dtype(std::string_view name, DType fallback) {
  const Attribute* attribute = find_typed(name, AttributeType::Int);
  if (attribute == nullptr) return fallback;
  Result<DType> dtype = dtype_of_number(attribute->integer);
  if (dtype.ok()) return *dtype;
  std::move(dtype).error().node(location_.nodes.empty() ? "" : location_.nodes[0],
                                location_.op_type);
  dtype.error().diagnostic().message =
      "attribute '" + std::string(name) + "': " + dtype.error().diagnostic().message;
  attr_error(std::move(dtype).error());
  return fallback;
}

DType NodeContext::attr_dtype(std::string_view name) {
  if (!has_attr(name))
    attr_error(fail(Code::BadAttribute, "attribute '" + std::string(name) + "' is missing"));
  return attr_dtype(name, DType::F32);
}

Bytes NodeContext::attr_message(std::string_view name, AttributeType type) {
  if (!has_attr(name))
    attr_error(fail(Code::BadAttribute, "attribute '" + std::string(name) + "' is missing"));
  const Attribute* attribute = find_typed(name, type);
  if (attribute == nullptr) return {};
  Result<Bytes> message = attribute_message(*attribute);
  if (!message.ok()) return attr_error(std::move(message).error()), Bytes{};
  return *message;
}

size_t NodeContext::attr_choice(std::string_view name, std::span<const std::string_view> choices,
                                size_t fallback) {
  const std::string text = attr_string(name, choices[fallback]);
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == text) return i;
  attr_error(fail(Code::BadAttribute, "attribute '" + std::string(name) +
                                          "' has the unknown value '" + printable(text) + "'")
                 .hint(did_you_mean(text, choices)));
  return fallback;
}

Status NodeContext::attr_status() {
  if (attr_error_) return std::move(*attr_error_);
  return {};
}

std::vector<std::string_view> NodeContext::unread_attributes() const {
  std::vector<std::string_view> unread;
  for (const Attribute& attribute : node_.attributes)
    if (!read_.contains(attribute.name)) unread.push_back(attribute.name);
  return unread;
}

// --- building -----------------------------------------------------------------------------------

Result<ec::Tensor*> NodeContext::add(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs) {
  EC_TRY(Operation * op, add_op(kind, std::move(inputs), std::move(attrs), 1));
  return op->output();
}

Result<Operation*> NodeContext::add_op(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs,
                                       size_t num_outputs) {
  EC_CHECK_OK(attr_status());
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = location_;
  spec.num_outputs = num_outputs;
  return graph().add(kind, std::move(inputs), std::move(spec));
}

Status NodeContext::finish(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs) {
  EC_TRY(Operation * op,
         add_op(kind, std::move(inputs), std::move(attrs), std::max<size_t>(num_outputs(), 1)));
  for (size_t i = 0; i < std::min(op->outputs().size(), results_.size()); ++i)
    set(i, op->output(i));
  return {};
}

void NodeContext::set(size_t i, ec::Tensor* tensor) {
  if (i >= results_.size()) return;
  const bool made_here = tensor->id() >= first_tensor_id_ && !tensor->is_input();
  if (made_here && !node_.outputs[i].empty() && tensor->name() != node_.outputs[i])
    graph().rename(tensor, std::string(node_.outputs[i]));
  results_[i] = Binding::of(tensor);
}

void NodeContext::set(size_t i, Binding binding) {
  if (binding.is(Binding::Kind::Tensor)) return set(i, binding.tensor);
  if (i < results_.size()) results_[i] = std::move(binding);
}

Result<ec::Tensor*> NodeContext::constant(Bytes tensor_message) {
  return importer_.add_constant(tensor_message, graph(), {});
}

Result<ec::Tensor*> NodeContext::cast(ec::Tensor* x, DType to) {
  if (x->dtype() == to) return x;
  CastAttrs attrs;
  attrs.to = to;
  return add(OpKind::Cast, {x}, attrs);
}

Result<ec::Tensor*> NodeContext::unsqueeze(ec::Tensor* x, std::span<const int64_t> axes) {
  if (axes.empty()) return x;
  return add(OpKind::Unsqueeze, {x, ints(axes)});
}

Result<ec::Tensor*> NodeContext::reshape(ec::Tensor* x, std::span<const int64_t> shape) {
  return add(OpKind::Reshape, {x, ints(shape)}, ReshapeAttrs{});
}

Result<ec::Tensor*> NodeContext::transpose(ec::Tensor* x, std::vector<int64_t> perm) {
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return add(OpKind::Transpose, {x}, attrs);
}

Error NodeContext::fail(Code code, std::string message) const {
  return Error(code, std::move(message)).node(std::string(location_.name()), location_.op_type);
}

}  // namespace ec::onnx
