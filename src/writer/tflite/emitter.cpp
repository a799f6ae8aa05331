#include "writer/tflite/emitter.h"

#include <algorithm>
#include <cmath>

#include "ir/permuted_quant.h"
#include "ops/convert.h"
#include "ops/op_def.h"
#include "ops/strided_copy.h"
#include "writer/tflite/emit_state.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {

Blob packed(const Blob& data, DType dtype) {
  const int bits = bit_width(dtype);
  if (bits >= 8) return data;
  const auto per_byte = static_cast<size_t>(8 / bits);
  std::vector<std::byte> bytes((data.size() + per_byte - 1) / per_byte);
  const unsigned mask = (1u << bits) - 1;
  for (size_t i = 0; i < data.size(); ++i)
    bytes[i / per_byte] |= std::byte((std::to_integer<unsigned>(data.bytes()[i]) & mask)
                                     << (i % per_byte * static_cast<size_t>(bits)));
  return Blob::copy_of(std::span<const std::byte>(bytes));
}

namespace {

constexpr std::string_view kOpenSizesHint =
    "fix the sizes with --input-shape NAME:1x3x224x224 or --dim NAME=N";
// For operations that TFLite has in no form.
constexpr std::string_view kRewriteHint =
    "leave this operation out of the exported model, or compile for --target cpu";

bool is_pool(OpKind kind) { return kind == OpKind::MaxPool || kind == OpKind::AvgPool; }

bool takes_activation(OpKind kind, bool fuse_pools) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Conv:
    case OpKind::ConvTranspose:
    case OpKind::MatMul:
    case OpKind::Gemm:
      return true;
    default:
      return is_pool(kind) && fuse_pools;
  }
}

}  // namespace

std::optional<ActivationFunctionType> activation_code(std::optional<FusedClamp> clamp) {
  if (!clamp) return std::nullopt;
  switch (*clamp) {
    case FusedClamp::None:
      return ActivationFunctionType::NONE;
    case FusedClamp::Relu:
      return ActivationFunctionType::RELU;
    case FusedClamp::Relu6:
      return ActivationFunctionType::RELU6;
    case FusedClamp::ReluN1To1:
      return ActivationFunctionType::RELU_N1_TO_1;
  }
  return std::nullopt;
}

// --- the graph -----------------------------------------------------------------------------------

int32_t GraphEmitter::add_tensor(const std::string& name, ec::TensorType type, uint32_t buffer) {
  std::vector<TensorRecord>& tensors = record().tensors;
  tensors.push_back({name, std::move(type), buffer});
  return static_cast<int32_t>(tensors.size() - 1);
}

int32_t GraphEmitter::tensor(const ec::Tensor* tensor) {
  if (const auto it = indices_.find(tensor); it != indices_.end()) return it->second;
  uint32_t buffer = 0;
  if (tensor->is_constant())
    buffer = model_.add_buffer(packed(tensor->raw_data(), tensor->dtype()));
  const int32_t index = add_tensor(tensor->name(), tensor->type(), buffer);
  indices_.emplace(tensor, index);
  return index;
}

GraphEmitter::Fused GraphEmitter::fuse(const Operation& op) {
  Fused fused{ActivationFunctionType::NONE, op.output()};
  const ec::Tensor* result = op.output();
  if (!takes_activation(op.kind(), model_.fuse_pool_activations()) ||
      !graph_.has_single_use(result))
    return fused;
  const Operation* user = result->uses().front().op;
  if (user->input(0) != result || result->type().quant != user->output()->type().quant)
    return fused;
  const auto activation = activation_code(fused_clamp(*user));
  if (!activation) return fused;
  fused_.insert(user);
  return {*activation, user->output()};
}

const Operation* GraphEmitter::only_reader(const ec::Tensor* tensor, OpKind kind) const {
  if (!graph_.has_single_use(tensor)) return nullptr;
  const Operation* reader = tensor->uses().front().op;
  return reader->kind() == kind && reader->input(0) == tensor ? reader : nullptr;
}

// Operations that nothing in the file reads, because other operators compute them.
void GraphEmitter::find_unwritten() {
  std::unordered_set<const ec::Tensor*> read(graph_.outputs().begin(), graph_.outputs().end());
  const std::vector<Operation*> order = graph_.topological();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Operation* op = *it;
    const bool written =
        op->outputs().empty() || op->kind() == OpKind::WriteState ||
        std::any_of(op->outputs().begin(), op->outputs().end(),
                    [&read](const ec::Tensor* output) { return read.contains(output); });
    if (!written) {
      fused_.insert(op);
      continue;
    }
    for (size_t i = 0; i < op->inputs().size(); ++i)
      if (op->input(i) != nullptr) read.insert(written_operand(*op, i));
  }
}

void GraphEmitter::emit() {
  for (const ec::Tensor* input : graph_.inputs()) record().inputs.push_back(tensor(input));
  find_unwritten();
  emit_operations();
  emit_outputs();
  for (const TensorRecord& tensor : record().tensors)
    if (!tensor_type(tensor.type.dtype))
      sink_.report(Error(Code::UnsupportedType, "TFLite has no element type " +
                                                    std::string(dtype_name(tensor.type.dtype)) +
                                                    " (tensor '" + tensor.name + "')"));
  if (!sink_.has_errors()) check_computed();
}

// TFLite keeps the state of an operator inside it: a graph that reads the new state has no form.
void GraphEmitter::check_computed() {
  std::vector<bool> computed(record().tensors.size(), false);
  for (size_t i = 0; i < computed.size(); ++i)
    computed[i] = record().tensors[i].buffer != 0 || record().tensors[i].is_variable;
  for (const int32_t input : record().inputs) computed[static_cast<size_t>(input)] = true;
  for (const OperatorRecord& op : record().operators)
    for (const int32_t output : op.outputs)
      if (output >= 0) computed[static_cast<size_t>(output)] = true;
  const auto check = [&](const std::vector<int32_t>& read) {
    for (const int32_t tensor : read) {
      const auto i = static_cast<size_t>(tensor);
      if (tensor < 0 || computed[i]) continue;
      computed[i] = true;
      sink_.report(Error(Code::ExportFailed, "'" + record().tensors[i].name +
                                                 "' is a result that no operator of TFLite gives"));
    }
  };
  // Custom operators list scratch memory among their inputs.
  for (const OperatorRecord& op : record().operators)
    if (model_.operator_of(op) != BuiltinOperator::CUSTOM) check(op.inputs);
  check(record().outputs);
}

namespace {

// Operators that take tensors of any number of dimensions, or do not say how many they give.
bool takes_any_rank(const Operation& op) {
  switch (op.kind()) {
    case OpKind::If:
    case OpKind::Loop:
    case OpKind::Custom:
    case OpKind::Shape:
      return true;
    default:
      return op.def().traits.elementwise;
  }
}
bool gives_any_rank(const Operation& op) {
  return takes_any_rank(op) || op.kind() == OpKind::Reshape || op.kind() == OpKind::Fill ||
         op.kind() == OpKind::Expand;
}
// Kernels compute in single precision; what is double can be converted and moved.
bool computes_in_double(const Operation& op) {
  if (op.kind() == OpKind::Cast || op.kind() == OpKind::Custom || !op.bodies().empty())
    return false;
  const auto is_double = [](const ec::Tensor* tensor) {
    return tensor != nullptr && tensor->dtype() == DType::F64;
  };
  return std::any_of(op.inputs().begin(), op.inputs().end(), is_double) ||
         std::any_of(op.outputs().begin(), op.outputs().end(), is_double);
}
const ec::Tensor* without_type(const Operation& op) {
  for (const auto& list : {op.inputs(), op.outputs()})
    for (const ec::Tensor* tensor : list)
      if (tensor != nullptr && !tensor_type(tensor->dtype())) return tensor;
  return nullptr;
}
const ec::Tensor* without_rank(const Operation& op) {
  for (const ec::Tensor* input : op.inputs())
    if (input != nullptr && !input->shape() && !takes_any_rank(op)) return input;
  for (const ec::Tensor* output : op.outputs())
    if (!output->shape() && !gives_any_rank(op)) return output;
  return nullptr;
}

}  // namespace

namespace {

// What the user knows the operation by: operations that passes put between others go by what they
// read, or by the input.
std::string source_name(const Operation& op) {
  const Operation* at = &op;
  while (at->location().name().empty()) {
    const auto& inputs = at->inputs();
    const auto computed = std::find_if(inputs.begin(), inputs.end(), [](const ec::Tensor* x) {
      return x != nullptr && x->producer() != nullptr;
    });
    if (computed != inputs.end()) {
      at = (*computed)->producer();
      continue;
    }
    const auto given = std::find_if(inputs.begin(), inputs.end(), [](const ec::Tensor* x) {
      return x != nullptr && x->is_input();
    });
    return given == inputs.end() ? std::string() : (*given)->name();
  }
  return std::string(at->location().name());
}

}  // namespace

void GraphEmitter::emit_operations() {
  const std::vector<Operation*> order = in_order_of_states(graph_.topological());
  if (Status status = emit_initial_states(*this, order); !status.ok())
    sink_.report(std::move(status).error());
  for (const Operation* op : order) {
    if (fused_.contains(op)) continue;
    OpEmitter emitter(*this, *op);
    const size_t first = record().operators.size();
    const EmitFn emit_op = find_emit(op->kind());
    if (const ec::Tensor* open = without_rank(*op)) {
      sink_.report(emitter.fail("the number of dimensions of '" + open->name() + "' is not known",
                                "fix the sizes with --input-shape NAME:1x3x224x224"));
      continue;
    }
    if (const ec::Tensor* other = without_type(*op)) {
      sink_.report(Error(Code::UnsupportedType, "TFLite has no element type " +
                                                    std::string(dtype_name(other->dtype())) +
                                                    " (tensor '" + other->name() + "')")
                       .node(std::string(op->location().name()), op->location().op_type));
      continue;
    }
    if (computes_in_double(*op)) {
      sink_.report(emitter.fail("TFLite has no kernels for f64", "export the model in f32"));
      continue;
    }
    Status status =
        emit_op != nullptr
            ? emit_op(emitter)
            : Status(emitter.fail("TFLite has no operator for it, and no rewrite into others fits",
                                  std::string(kRewriteHint)));
    if (!status.ok()) sink_.report(std::move(status).error());
    for (size_t i = first; i < record().operators.size(); ++i)
      record().operators[i].source = source_name(*op);
  }
}

// A tensor of its own with the same elements; the tensor itself where its shape is too open to say.
int32_t GraphEmitter::copy_of(const ec::Tensor& original, const std::string& name) {
  const int32_t index = tensor(&original);
  std::vector<int32_t> sizes;
  int open = original.shape() ? 0 : 2;
  if (original.shape())
    for (const Dim& dim : *original.shape()) {
      sizes.push_back(dim.is_static() ? static_cast<int32_t>(dim.size()) : -1);
      open += dim.is_static() ? 0 : 1;
    }
  // Beside an empty dimension -1 could stand for any size.
  if (open > 1 || (open == 1 && std::ranges::find(sizes, 0) != sizes.end())) return index;
  OperatorRecord copy;
  copy.source = original.producer() != nullptr ? source_name(*original.producer()) : name;
  copy.outputs = {add_tensor(original.name() + "_copy", original.type())};
  copy.inputs = {index};
  if (sizes.empty()) {
    copy.code = model_.add_code(BuiltinOperator::SQUEEZE, 1);
    copy.options = options(BuiltinOptions::SqueezeOptions, CreateSqueezeOptions(model_.fbb()));
  } else {
    const auto count = static_cast<int64_t>(sizes.size());
    copy.code = model_.add_code(BuiltinOperator::RESHAPE, 1);
    copy.inputs.push_back(
        add_tensor(original.name() + "_shape", ec::TensorType(DType::I32, Shape{Dim(count)}),
                   model_.add_buffer(Blob::copy_of(std::span<const int32_t>(sizes)))));
  }
  const int32_t result = copy.outputs[0];
  record().operators.push_back(std::move(copy));
  return result;
}

// Results that are inputs or constants, and repeated ones, are copied: runtimes expect each output
// to be some operator's own tensor.
void GraphEmitter::emit_outputs() {
  std::unordered_set<const ec::Tensor*> seen;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ec::Tensor* output = graph_.outputs()[i];
    const bool own = output->producer() != nullptr && seen.insert(output).second;
    record().outputs.push_back(own ? tensor(output) : copy_of(*output, graph_.output_names()[i]));
  }
}

// --- one operation -------------------------------------------------------------------------------

const ec::Tensor* OpEmitter::cast_result(size_t i, std::initializer_list<DType> types) {
  const Operation* cast = graph_.only_reader(op_.output(i), OpKind::Cast);
  if (cast == nullptr ||
      std::find(types.begin(), types.end(), cast->output()->dtype()) == types.end())
    return op_.output(i);
  graph_.take_along(cast);
  return cast->output();
}

std::vector<int32_t> OpEmitter::inputs() {
  std::vector<int32_t> indices;
  for (size_t i = 0; i < op_.inputs().size(); ++i) indices.push_back(in(i));
  while (!indices.empty() && indices.back() < 0) indices.pop_back();
  return indices;
}

std::vector<int32_t> OpEmitter::outputs() {
  std::vector<int32_t> indices;
  for (size_t i = 0; i < op_.outputs().size(); ++i) indices.push_back(out(i));
  return indices;
}

void OpEmitter::add(BuiltinOperator code, std::vector<int32_t> inputs, std::vector<int32_t> outputs,
                    Options options, int32_t at_least) {
  std::vector<const TensorRecord*> from, to;
  for (const int32_t i : inputs) from.push_back(i < 0 ? nullptr : &graph_.tensor_record(i));
  for (const int32_t i : outputs) to.push_back(i < 0 ? nullptr : &graph_.tensor_record(i));
  OperatorRecord record;
  record.code =
      graph_.model().add_code(code, std::max(at_least, version_for_types(code, from, to)));
  record.inputs = std::move(inputs);
  record.outputs = std::move(outputs);
  record.options = options;
  graph_.record().operators.push_back(std::move(record));
}

void OpEmitter::add_custom(const std::string& code, std::vector<uint8_t> option_bytes) {
  add_custom(code, std::move(option_bytes), op_.inputs().size(), op_.outputs().size());
}

void OpEmitter::add_custom(const std::string& code, std::vector<uint8_t> option_bytes,
                           size_t num_inputs, size_t num_outputs) {
  OperatorRecord record;
  record.code = graph_.model().add_code(BuiltinOperator::CUSTOM, 1, code);
  record.inputs = inputs();
  record.inputs.resize(std::min(num_inputs, record.inputs.size()));
  for (size_t i = 0; i < num_outputs; ++i) record.outputs.push_back(out(i));
  record.custom_options = std::move(option_bytes);
  graph_.record().operators.push_back(std::move(record));
}

int32_t OpEmitter::step(BuiltinOperator code, std::vector<int32_t> inputs, ec::TensorType type,
                        Options options, int32_t at_least) {
  const int32_t result = graph_.add_tensor(op_.output()->name() + "_part", std::move(type));
  add(code, std::move(inputs), {result}, options, at_least);
  return result;
}

int32_t OpEmitter::constant(ec::TensorType type, Blob data) {
  return graph_.add_tensor(op_.output()->name() + "_const", std::move(type),
                           graph_.model().add_buffer(std::move(data)));
}

int32_t OpEmitter::ints(std::span<const int64_t> values) {
  std::vector<int32_t> narrow;
  for (const int64_t v : values)
    narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)));
  return constant(ec::TensorType(DType::I32, Shape{Dim(static_cast<int64_t>(values.size()))}),
                  Blob::copy_of(std::span<const int32_t>(narrow)));
}

int32_t OpEmitter::int_scalar(int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  return constant(ec::TensorType(DType::I32, Shape{}),
                  Blob::copy_of(std::span<const int32_t>(&narrow, 1)));
}

int32_t OpEmitter::number(const ec::TensorType& like, double value) {
  ec::TensorType type(like.dtype, Shape{});
  double stored = value;
  if (like.quant && !like.quant->per_channel()) {
    type.quant = like.quant;
    const double low = static_cast<double>(lowest_integer(like.dtype));
    const double high = static_cast<double>(highest_integer(like.dtype));
    stored = std::clamp(
        std::round(value / static_cast<double>(like.quant->scales[0])) + like.quant->zero_points[0],
        low, high);
  }
  ec::Buffer buffer = ec::Buffer::allocate(element_size(like.dtype));
  store<double>(MutableView{like.dtype, {}, buffer.data()}, std::span<const double>(&stored, 1));
  return constant(std::move(type), std::move(buffer).to_blob());
}

int32_t OpEmitter::cast_to_i32(int32_t index, const ec::Tensor& tensor) {
  ec::TensorType type = tensor.type();
  type.dtype = DType::I32;
  return step(BuiltinOperator::CAST, {index}, std::move(type),
              options(BuiltinOptions::CastOptions,
                      CreateCastOptions(fbb(), *tensor_type(tensor.dtype()), TensorType::INT32)));
}

Result<int32_t> OpEmitter::int32_operand(size_t i) {
  const ec::Tensor& tensor = *written_operand(op_, i);
  if (tensor.dtype() == DType::I32) return graph_.tensor(&tensor);
  ec::TensorType type(DType::I32, *tensor.shape());
  if (!tensor.is_constant()) return cast_to_i32(graph_.tensor(&tensor), tensor);
  const std::vector<int64_t> shape = tensor.shape()->sizes();
  std::vector<int64_t> wide(static_cast<size_t>(count_elements(shape)));
  load<int64_t>(ConstView{tensor.dtype(), shape, tensor.data().bytes().data()}, wide);
  std::vector<int32_t> narrow;
  for (const int64_t v : wide)
    narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)));
  return constant(std::move(type), Blob::copy_of(std::span<const int32_t>(narrow)));
}

int32_t OpEmitter::permuted_constant(const ec::Tensor& tensor, std::span<const int64_t> perm) {
  const std::vector<int64_t> shape = tensor.shape()->sizes();
  const size_t rank = shape.size();
  std::vector<int64_t> from(rank, 1), to(rank, 1), source(rank), target(rank);
  for (size_t d = rank; d-- > 1;) from[d - 1] = from[d] * shape[d];
  for (size_t d = 0; d < rank; ++d) {
    target[d] = shape[static_cast<size_t>(perm[d])];
    source[d] = from[static_cast<size_t>(perm[d])];
  }
  for (size_t d = rank; d-- > 1;) to[d - 1] = to[d] * target[d];
  ec::Buffer buffer = ec::Buffer::allocate(tensor.data().size());
  strided_copy(buffer.data(), to, tensor.data().bytes().data(), source, target,
               element_size(tensor.dtype()));
  ec::TensorType type(tensor.dtype(), Shape::of(target));
  type.quant = permuted(tensor.type().quant, perm);
  Blob data = packed(std::move(buffer).to_blob(), tensor.dtype());
  const uint32_t stored = graph_.model().add_buffer(std::move(data));
  return graph_.add_tensor(tensor.name(), std::move(type), stored);
}

namespace {

bool has_open_operand(const Operation& op) {
  return std::ranges::any_of(op.inputs(), [](const ec::Tensor* input) {
    return input != nullptr && !input->type().is_static();
  });
}

}  // namespace

Error OpEmitter::fail(std::string message, std::string hint) const {
  // The passes that bring operations into TFLite's forms leave many alone whose sizes are open.
  if ((hint == kPipelineHint || hint == kRewriteHint) && has_open_operand(op_)) {
    message += ", while its sizes are open";
    hint = kOpenSizesHint;
  }
  const std::string_view name = op_.location().name();
  Error error(Code::NotOnTarget, std::string(op_.def().name) + ": " + std::move(message));
  error = std::move(error).node(std::string(name.empty() ? op_.output()->name() : name),
                                op_.location().op_type);
  if (hint.empty()) hint = kRewriteHint;
  return std::move(error).hint(std::move(hint));
}

Status OpEmitter::require_static(const ec::Tensor& tensor) const {
  if (tensor.type().is_static()) return {};
  return fail("needs fixed sizes, and '" + tensor.name() + "' is " + tensor.type().text(),
              std::string(kOpenSizesHint));
}

}  // namespace ec::tflite
