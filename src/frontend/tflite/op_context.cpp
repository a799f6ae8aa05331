#include "frontend/tflite/op_context.h"

#include <algorithm>

#include "frontend/tflite/importer.h"
#include "frontend/tflite/types.h"
#include "frontend/turned_weights.h"
#include "ir/permuted_quant.h"
#include "ops/op_def.h"

namespace ec::tflite {

OpContext::OpContext(Importer& importer, Scope& scope, const Operator& op, Location location)
    : importer_(importer),
      scope_(scope),
      op_(op),
      location_(std::move(location)),
      results_(size_of(op.outputs()), nullptr) {
  const bool is_custom =
      builtin_code(importer.file().code_of(op)) == static_cast<int32_t>(BuiltinOperator::CUSTOM);
  for (uint32_t i = 0; i < size_of(op.inputs()); ++i) {
    const int32_t index = op.inputs()->Get(i);
    // Custom operators list scratch memory among their inputs: a tensor that nothing computes.
    const bool absent = is_custom && index >= 0 && !importer.is_defined(scope, index);
    inputs_.push_back(absent ? nullptr : importer.value(scope, index, location_));
  }
  first_tensor_id_ = graph().tensor_id_bound();
}

std::vector<ec::Tensor*> OpContext::tensors() const {
  std::vector<ec::Tensor*> all = inputs_;
  while (!all.empty() && all.back() == nullptr) all.pop_back();
  return all;
}

Result<size_t> OpContext::rank(size_t i) const {
  if (in(i)->shape()) return in(i)->shape()->rank();
  return fail(Code::DynamicShape, "the rank of input '" + in(i)->name() + "' is not known");
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
  return unsupported("input '" + std::string(name) + "' has to be constant")
      .hint("convert the model with fixed input shapes, or give them with --input-shape");
}

Result<int64_t> OpContext::need_int(size_t i, std::string_view name) const {
  EC_TRY(const std::vector<int64_t> values, need_ints(i, name));
  if (values.size() != 1)
    return fail(Code::ShapeMismatch, "input '" + std::string(name) + "' has to be one number");
  return values[0];
}

Result<ec::Tensor*> OpContext::as_i64(size_t i) {
  ec::Tensor* tensor = in(i);
  if (!is_integer(tensor->dtype()))
    return fail(Code::TypeMismatch, "input " + std::to_string(i) + " has to hold integers");
  if (tensor->is_constant())
    if (const auto values = known_ints(tensor); values && tensor->shape()->rank() == 1)
      return ints(*values);
  return cast(tensor, DType::I64);
}

bool OpContext::is_complex_input(size_t i) const {
  return i < size_of(op_.inputs()) && input_index(i) >= 0 &&
         is_complex(scope_.tensor(input_index(i)));
}
bool OpContext::is_complex_output(size_t i) const {
  return i < results_.size() && is_complex(declared(i));
}

void OpContext::replace_input(size_t i, ec::Tensor* tensor) { inputs_[i] = tensor; }

Result<DType> OpContext::out_dtype(size_t i) const {
  if (const auto dtype = to_dtype(declared(i).type())) return *dtype;
  return fail(Code::UnsupportedType,
              "the result is of type " + std::string(tensor_type_name(declared(i).type())));
}

std::optional<QuantParams> OpContext::out_quant(size_t i) const {
  return quant_params(declared(i));
}

// --- building -----------------------------------------------------------------------------------

Result<ec::Tensor*> OpContext::add(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs) {
  EC_TRY(Operation * op, add_op(kind, std::move(inputs), std::move(attrs), 1));
  return op->output();
}

Result<Operation*> OpContext::add_op(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs,
                                     size_t num_outputs) {
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = location_;
  spec.num_outputs = num_outputs;
  EC_TRY(Operation * op, graph().add(kind, std::move(inputs), std::move(spec)));
  if (op->def().quant == QuantRule::SameAsInput && op->input(0) != nullptr)
    if (const auto& quant = op->input(0)->type().quant; quant && !quant->per_channel())
      for (ec::Tensor* result : op->outputs())
        if (result->dtype() == op->input(0)->dtype()) graph().set_quant(result, quant);
  return op;
}

Status OpContext::finish(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs) {
  EC_TRY(Operation * op,
         add_op(kind, std::move(inputs), std::move(attrs), std::max<size_t>(num_outputs(), 1)));
  for (size_t i = 0; i < std::min(op->outputs().size(), results_.size()); ++i)
    EC_CHECK_OK(set(i, op->output(i)));
  return {};
}

Status OpContext::finish_activated(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs,
                                   ActivationFunctionType activation) {
  EC_TRY(ec::Tensor * tensor, add(kind, std::move(inputs), std::move(attrs)));
  return set_activated(tensor, activation);
}

Status OpContext::set_activated(ec::Tensor* tensor, ActivationFunctionType activation) {
  // The sum itself is stored with the parameters of the result: bit-equal to the fused form.
  if (is_integer(tensor->dtype())) graph().set_quant(tensor, out_quant());
  switch (activation) {
    case ActivationFunctionType::NONE:
      return set(0, tensor);
    case ActivationFunctionType::RELU:
      return finish(OpKind::Relu, {tensor});
    case ActivationFunctionType::RELU6: {
      EC_TRY(ec::Tensor * result, clip(tensor, 0.0f, 6.0f));
      return set(0, result);
    }
    case ActivationFunctionType::RELU_N1_TO_1: {
      EC_TRY(ec::Tensor * result, clip(tensor, -1.0f, 1.0f));
      return set(0, result);
    }
    case ActivationFunctionType::TANH:
      return finish(OpKind::Tanh, {tensor});
    case ActivationFunctionType::SIGN_BIT:
      break;
  }
  return unsupported("fused activation " + std::to_string(static_cast<int>(activation)) +
                     " is not supported");
}

Status OpContext::set(size_t i, ec::Tensor* tensor) {
  if (i >= results_.size()) return {};
  const bool made_here = tensor->id() >= first_tensor_id_ && !tensor->is_input();
  const bool given = std::find(results_.begin(), results_.end(), tensor) != results_.end();
  if (!made_here || given || tensor->is_constant()) {
    EC_TRY(tensor, add(OpKind::Identity, {tensor}));
  }
  const std::string name = source_name(declared(i));
  if (!name.empty() && tensor->name() != name) graph().rename(tensor, name);
  results_[i] = tensor;
  return {};
}

Result<ec::Tensor*> OpContext::cast(ec::Tensor* x, DType to) {
  if (x->dtype() == to) return x;
  CastAttrs attrs;
  attrs.to = to;
  return add(OpKind::Cast, {x}, attrs);
}

Result<ec::Tensor*> OpContext::reshape(ec::Tensor* x, std::span<const int64_t> shape) {
  ReshapeAttrs attrs;
  attrs.allow_zero = true;
  return add(OpKind::Reshape, {x, ints(shape)}, attrs);
}

Result<ec::Tensor*> OpContext::transpose(ec::Tensor* x, std::vector<int64_t> perm) {
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return add(OpKind::Transpose, {x}, attrs);
}

Result<ec::Tensor*> OpContext::unsqueeze(ec::Tensor* x, std::span<const int64_t> axes) {
  return add(OpKind::Unsqueeze, {x, ints(axes)});
}

Result<ec::Tensor*> OpContext::squeeze(ec::Tensor* x, std::span<const int64_t> axes) {
  return add(OpKind::Squeeze, {x, ints(axes)});
}

Result<ec::Tensor*> OpContext::clip(ec::Tensor* x, float low, float high) {
  const DType bounds = x->type().quant ? DType::F32 : x->dtype();
  EC_TRY(ec::Tensor * result,
         add(OpKind::Clip, {x, scalar(bounds, double{low}), scalar(bounds, double{high})}));
  if (x->type().quant) graph().set_quant(result, x->type().quant);
  return result;
}

Result<ec::Tensor*> OpContext::permuted_input(size_t i, const std::vector<int64_t>& perm) {
  ec::Tensor* tensor = in(i);
  EC_TRY(const size_t dims, rank(i));
  if (dims != perm.size())
    return fail(Code::ShapeMismatch, "input '" + tensor->name() + "' has " + std::to_string(dims) +
                                         " dimensions, " + std::to_string(perm.size()) +
                                         " are needed");
  ec::TensorType type = tensor->type();
  for (size_t d = 0; d < dims; ++d)
    (*type.shape)[d] = (*tensor->shape())[static_cast<size_t>(perm[d])];
  type.quant = permuted(std::move(type.quant), perm);
  const size_t bytes = tensor->is_constant() ? tensor->raw_data().size() : 0;
  // Beyond the limit for copies the graph permutes when it runs.
  if (!tensor->is_constant() || !importer_.may_copy(bytes)) {
    EC_TRY(ec::Tensor * moved, transpose(tensor, perm));
    graph().set_quant(moved, type.quant);
    return moved;
  }
  WeightMemory memory(bytes);
  Blob data = turned_bytes(*tensor, perm, memory);
  if (data.size() != bytes) return fail(Code::OutOfMemory, "no memory to turn the weights");
  std::string name = tensor->name();
  if (tensor->uses().empty() && !graph().is_output(tensor)) {
    // The transposed constant is the only form that is needed, so it keeps the name.
    scope_.values[static_cast<size_t>(input_index(i))] = nullptr;
    std::replace(inputs_.begin(), inputs_.end(), tensor, static_cast<ec::Tensor*>(nullptr));
    graph().erase(tensor);
  }
  ec::Tensor* moved = graph().add_constant(std::move(name), type, std::move(data));
  inputs_[i] = moved;
  return moved;
}

Error OpContext::fail(Code code, std::string message) const {
  return Error(code, std::move(message)).node(std::string(location_.name()), location_.op_type);
}

Result<FusedActivation> fused_activation(const OpContext& ctx, ActivationFunctionType activation) {
  switch (activation) {
    case ActivationFunctionType::NONE:
      return FusedActivation{};
    case ActivationFunctionType::RELU:
      return FusedActivation{Activation::Relu};
    case ActivationFunctionType::RELU6:
      return FusedActivation{Activation::Relu6};
    case ActivationFunctionType::RELU_N1_TO_1:
      return FusedActivation{Activation::Clip, -1.0f, 1.0f};
    case ActivationFunctionType::TANH:
      return FusedActivation{Activation::Tanh};
    case ActivationFunctionType::SIGN_BIT:
      break;
  }
  return ctx.unsupported("fused activation " + std::to_string(static_cast<int>(activation)) +
                         " is not supported");
}

}  // namespace ec::tflite
