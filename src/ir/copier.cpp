#include "ir/copier.h"

namespace ec {

Result<Operation*> copy_operation(Graph& to, const Operation& op, std::vector<Tensor*> operands,
                                  std::vector<TensorType> types) {
  OpSpec spec;
  spec.attrs = op.attrs();
  spec.location = op.location();
  spec.num_outputs = types.size();
  for (size_t i = 0; i < types.size(); ++i) spec.output_names.push_back(op.output(i)->name());
  for (const auto& body : op.bodies()) spec.bodies.push_back(body->clone());
  EC_TRY(Operation * copy,
         to.add_typed(op.kind(), std::move(operands), std::move(spec), std::move(types)));
  for (size_t i = 0; i < copy->outputs().size(); ++i)
    if (op.output(i)->dim_values() && copy->output(i)->dtype() == op.output(i)->dtype())
      to.set_dim_values(copy->output(i), op.output(i)->dim_values());
  return copy;
}

Tensor* GraphCopier::find(const Tensor* tensor) const {
  const auto it = copies_.find(tensor);
  return it == copies_.end() ? nullptr : it->second;
}

Tensor* GraphCopier::add_input(const Tensor* tensor) {
  Tensor* copy = to_.add_input(tensor->name(), tensor->type());
  to_.set_dim_values(copy, tensor->dim_values());
  map(tensor, copy);
  return copy;
}

Tensor* GraphCopier::operand(const Tensor* tensor) {
  if (tensor == nullptr) return nullptr;
  Tensor* copy = find(tensor);
  if (copy == nullptr && tensor->is_constant()) {
    copy = to_.add_constant(tensor->name(), tensor->type(), tensor->raw_data());
    to_.set_dim_values(copy, tensor->dim_values());
    map(tensor, copy);
  }
  return copy;
}

void GraphCopier::copy_constants(const Graph& from) {
  for (const Tensor* tensor : from.tensors())
    if (tensor->is_constant()) operand(tensor);
}

Result<Operation*> GraphCopier::copy(const Operation& op) {
  std::vector<Tensor*> operands;
  operands.reserve(op.inputs().size());
  for (const Tensor* input : op.inputs()) {
    operands.push_back(operand(input));
    if (input != nullptr && operands.back() == nullptr)
      return Error(Code::Internal, "tensor '" + input->name() + "' has no copy")
          .node(std::string(op.location().name()), op.location().op_type);
  }
  std::vector<TensorType> types;
  types.reserve(op.outputs().size());
  for (const Tensor* output : op.outputs()) types.push_back(output->type());
  EC_TRY(Operation * made, copy_operation(to_, op, std::move(operands), std::move(types)));
  for (size_t i = 0; i < op.outputs().size(); ++i) map(op.output(i), made->output(i));
  return made;
}

}  // namespace ec
