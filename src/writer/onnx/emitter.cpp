#include "writer/onnx/emitter.h"

#include <algorithm>

#include "formats/onnx/tensor_data.h"
#include "ops/convert.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace ec::onnx {
namespace {

DataType data_type_of(DType dtype) { return find_data_type(dtype_name(dtype))->type; }

ValueSource describe(const TensorType& type, const std::string& name,
                     std::vector<std::string>& texts) {
  ValueSource value;
  value.name = name;
  value.type = data_type_of(type.dtype);
  value.has_shape = type.shape.has_value();
  if (!type.shape) return value;
  texts.reserve(type.shape->rank());  // views into it stay valid
  for (const Dim& dim : *type.shape) {
    Dimension d;
    if (dim.is_static()) {
      d.value = dim.size();
    } else if (dim.is_symbol()) {
      // Invented symbols ("?3") are not for other tools to parse.
      const std::string_view symbol = dim.symbol_name();
      texts.push_back(symbol.starts_with("?") ? "unknown_" + std::string(symbol.substr(1))
                                              : std::string(symbol));
      d.param = texts.back();
    }
    value.dims.push_back(d);
  }
  return value;
}

std::string encode_typed(const TensorType& type, const std::string& name) {
  std::vector<std::string> texts;
  return encode_value(describe(type, name, texts));
}

}  // namespace

std::string Names::unique(const std::string& wanted) {
  if (!wanted.empty() && used_.insert(wanted).second) return wanted;
  int& next = next_[wanted];
  while (true) {
    std::string name = (wanted.empty() ? "t" : wanted) + "_" + std::to_string(++next);
    if (used_.insert(name).second) return name;
  }
}

Pieces DataStore::store(TensorSource tensor) {
  constexpr size_t kWorthwhile = 1024;
  constexpr uint64_t kAlignment = 64;  // so that readers can map the data in place
  if (use_external_ && tensor.data.size() >= kWorthwhile) {
    const uint64_t padding = (kAlignment - offset_ % kAlignment) % kAlignment;
    if (padding != 0) {
      const std::vector<std::byte> zeros(padding);
      external_.push_back(Blob::copy_of(std::span(zeros)));
    }
    tensor.location = external_name_;
    tensor.offset = offset_ + padding;
    external_.push_back(tensor.data);
    offset_ = tensor.offset + tensor.data.size();
  }
  return encode_tensor(tensor);
}

std::string GraphEmitter::add_initializer(const std::string& base, const TensorType& type,
                                          const Blob& data) {
  const std::string name = new_name(base);
  TensorSource tensor;
  tensor.name = name;
  const DataTypeInfo& info = *find_data_type(dtype_name(type.dtype));
  tensor.type = info.type;
  const std::vector<int64_t> dims = type.shape->sizes();
  tensor.dims = dims;
  tensor.data = pack_elements(data, info.bits);
  source_.initializers.push_back(state_.data.store(std::move(tensor)));
  return name;
}

std::string GraphEmitter::name(const ec::Tensor* tensor) {
  if (const auto it = names_.find(tensor); it != names_.end()) return it->second;
  std::string name = tensor->is_constant()
                         ? add_initializer(tensor->name(), tensor->type(), tensor->raw_data())
                         : new_name(tensor->name());
  names_.emplace(tensor, name);
  return name;
}

namespace {

// ONNX's operators take integers as they are: only the pair that converts knows of parameters.
// Moving elements changes none, as long as nothing is filled in.
bool needs_parameters(const Operation& op) {
  if (op.kind() == OpKind::Quantize || op.kind() == OpKind::Dequantize || !is_quantized(op))
    return false;
  const bool fills = op.kind() == OpKind::Pad || op.kind() == OpKind::CenterCropPad ||
                     op.kind() == OpKind::SpaceToBatch || op.kind() == OpKind::MaxUnpool ||
                     op.kind() == OpKind::Trilu;
  return fills || op.def().quant != QuantRule::SameAsInput || kernel_of(op) != op.def().reference;
}

}  // namespace

Status GraphEmitter::emit_operations() {
  for (const Operation* op : graph_.topological()) {
    OpEmitter emitter(*this, *op);
    if (needs_parameters(*op))
      return emitter.fail("it computes on integers that stand for real numbers");
    EC_CHECK_OK(find_emit(op->kind())(emitter));
  }
  return {};
}

void GraphEmitter::add_input(const ec::Tensor* tensor, const std::string& name) {
  bind(tensor, name);
  source_.inputs.push_back(encode_typed(tensor->type(), name));
}

void GraphEmitter::plan_outputs(const std::vector<std::string>& output_names) {
  output_names_ = output_names;
  for (size_t i = 0; i < output_names.size(); ++i) {
    const ec::Tensor* tensor = graph_.outputs()[i];
    if (tensor->producer() != nullptr && !names_.contains(tensor)) bind(tensor, output_names[i]);
  }
}

void GraphEmitter::finish_outputs() {
  for (size_t i = 0; i < output_names_.size(); ++i) {
    const ec::Tensor* tensor = graph_.outputs()[i];
    const std::string source = name(tensor);
    if (source != output_names_[i]) {
      NodeSource node;
      node.op_type = "Identity";
      node.name = new_name(output_names_[i] + "/identity");
      node.inputs = {source};
      node.outputs = {output_names_[i]};
      add_node(std::move(node));
    }
    source_.outputs.push_back(encode_typed(tensor->type(), output_names_[i]));
  }
}

Pieces GraphEmitter::finish(std::string_view graph_name) {
  source_.name = graph_name;
  return encode_graph(std::move(source_));
}

// --- one operation ------------------------------------------------------------------------------

std::string OpEmitter::in(size_t i) {
  const ec::Tensor* tensor = op_.input(i);
  return tensor == nullptr ? std::string() : graph_.name(tensor);
}

std::vector<std::string> OpEmitter::inputs() {
  std::vector<std::string> all;
  for (size_t i = 0; i < op_.inputs().size(); ++i) all.push_back(in(i));
  while (!all.empty() && all.back().empty()) all.pop_back();
  return all;
}

std::vector<std::string> OpEmitter::inputs_and_scalars() {
  std::vector<std::string> all{in(0)};
  for (size_t i = 1; i < op_.inputs().size(); ++i) all.push_back(scalar_in(i));
  while (all.back().empty()) all.pop_back();
  return all;
}

std::string OpEmitter::scalar_in(size_t i) {
  const ec::Tensor* tensor = op_.input(i);
  if (tensor == nullptr || (tensor->shape() && tensor->shape()->rank() == 0)) return in(i);
  if (tensor->is_constant())
    return graph_.add_initializer(tensor->name(), TensorType(tensor->dtype(), Shape{}),
                                  tensor->raw_data());
  return step("Reshape", {in(i), ints({})});
}

std::vector<std::string> OpEmitter::outputs() {
  std::vector<std::string> all;
  for (const ec::Tensor* tensor : op_.outputs()) all.push_back(graph_.name(tensor));
  return all;
}

Result<size_t> OpEmitter::rank(const ec::Tensor* tensor) const {
  if (tensor->shape()) return tensor->shape()->rank();
  return fail("the rank of '" + tensor->name() + "' is not known");
}

void OpEmitter::node(std::string_view op_type, std::vector<std::string> inputs,
                     std::vector<std::string> outputs, AttributeList attributes) {
  NodeSource node;
  node.op_type = std::string(op_type);
  std::string base(op_.location().name());
  if (base.empty()) base = std::string(op_type) + "_" + op_.output(0)->name();
  // Extra nodes of one op have their own operator in their name.
  if (nodes_++ > 0) base += "/" + std::string(op_type);
  node.name = graph_.new_name(base);
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  graph_.add_node(std::move(node));
}

std::string OpEmitter::step(std::string_view op_type, std::vector<std::string> inputs,
                            AttributeList attributes) {
  std::string result = temp();
  node(op_type, std::move(inputs), {result}, std::move(attributes));
  return result;
}

std::string OpEmitter::temp() { return graph_.new_name(op_.output(0)->name() + "/step"); }

std::string OpEmitter::ints(std::span<const int64_t> values) {
  return graph_.add_initializer(op_.output(0)->name() + "/ints",
                                TensorType(DType::I64, Shape{static_cast<int64_t>(values.size())}),
                                Blob::copy_of(values));
}

std::string OpEmitter::scalar(DType dtype, double value) {
  Buffer buffer = Buffer::allocate(element_size(dtype));
  store<double>(MutableView{dtype, {}, buffer.data(), nullptr}, std::span<const double>(&value, 1));
  return graph_.add_initializer(op_.output(0)->name() + "/number", TensorType(dtype, Shape{}),
                                std::move(buffer).to_blob());
}

void OpEmitter::transpose_to(const std::string& x, std::vector<int64_t> perm,
                             const std::string& result) {
  AttributeList attributes;
  attributes.add("perm", std::span<const int64_t>(perm));
  node("Transpose", {x}, {result}, std::move(attributes));
}

std::string OpEmitter::transpose(const std::string& x, std::vector<int64_t> perm) {
  std::string result = temp();
  transpose_to(x, std::move(perm), result);
  return result;
}

Result<std::string> OpEmitter::transposed_operand(size_t i, const std::vector<int64_t>& perm) {
  const ec::Tensor* tensor = op_.input(i);
  if (!tensor->is_constant()) return transpose(in(i), perm);
  ec::Graph scratch;
  ec::Tensor* constant = scratch.add_constant("w", tensor->type(), tensor->raw_data());
  TransposeAttrs attrs;
  attrs.perm = perm;
  EC_TRY(ec::Tensor * transposed, scratch.add_single(OpKind::Transpose, {constant}, attrs));
  scratch.add_output("transposed", transposed);
  EC_TRY(const std::vector<Value> values, interpret(scratch, {}));
  return graph_.add_initializer(tensor->name(), values[0].type(), values[0].data);
}

void OpEmitter::activation(Activation kind, float alpha, float beta, DType dtype,
                           const std::string& x, const std::string& result) {
  AttributeList a;
  switch (kind) {
    case Activation::None:
      return node("Identity", {x}, {result});
    case Activation::Relu:
      return node("Relu", {x}, {result});
    case Activation::Relu6:
      return node("Clip", {x, scalar(dtype, 0.0), scalar(dtype, 6.0)}, {result});
    case Activation::Clip:
      return node("Clip", {x, scalar(dtype, alpha), scalar(dtype, beta)}, {result});
    case Activation::LeakyRelu:
      a.add("alpha", alpha);
      return node("LeakyRelu", {x}, {result}, std::move(a));
    case Activation::Sigmoid:
      return node("Sigmoid", {x}, {result});
    case Activation::Tanh:
      return node("Tanh", {x}, {result});
    case Activation::Silu:
      return node("Mul", {x, step("Sigmoid", {x})}, {result});
    case Activation::HardSwish:
      return node("HardSwish", {x}, {result});
    case Activation::HardSigmoid:
      a.add("alpha", alpha);
      a.add("beta", beta);
      return node("HardSigmoid", {x}, {result}, std::move(a));
    case Activation::GeluTanh:
      a.add("approximate", std::string_view("tanh"));
      [[fallthrough]];
    case Activation::Gelu:
      return node("Gelu", {x}, {result}, std::move(a));
  }
}

Status OpEmitter::need_one_type() const {
  for (const ec::Tensor* input : op_.inputs()) {
    if (input == nullptr) continue;
    if (input->dtype() != dtype()) return fail("the operands have different element types");
    if (input->type().quant && is_integer(dtype())) return fail("the operands are quantised");
  }
  return {};
}

Error OpEmitter::fail(std::string message) const {
  return Error(Code::ExportFailed,
               std::string(op_.def().name) + " cannot be written as ONNX: " + std::move(message))
      .node(std::string(op_.location().name()), op_.location().op_type)
      .hint("write the graph as .ecir, or leave out the pass that made this operation");
}

int64_t type_number(DType dtype) { return static_cast<int64_t>(data_type_of(dtype)); }

std::vector<int64_t> to_channels_first(size_t rank) {
  std::vector<int64_t> perm = {0, static_cast<int64_t>(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  return perm;
}

std::vector<int64_t> to_channels_last(size_t rank) {
  std::vector<int64_t> perm = {0};
  for (size_t i = 2; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  perm.push_back(1);
  return perm;
}

}  // namespace ec::onnx
