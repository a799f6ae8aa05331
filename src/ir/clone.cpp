// Copying and comparing whole graphs.
#include <cassert>

#include "ir/graph.h"

namespace ec {

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name_);
  copy->metadata_ = metadata_;
  std::vector<Tensor*> map(tensors_.size(), nullptr);
  const auto carry = [&](const Tensor* from, Tensor* to) {
    to->named_by_source_ = from->named_by_source_;
    to->dim_values_ = from->dim_values_;
    map[from->id_] = to;
  };
  for (const Tensor* input : inputs_) carry(input, copy->add_input(input->name_, input->type_));
  for (const auto& tensor : tensors_)
    if (tensor && tensor->is_constant_)
      carry(tensor.get(), copy->add_constant(tensor->name_, tensor->type_, tensor->data_));
  for (const Operation* op : topological()) {
    OpSpec spec;
    spec.attrs = op->attrs_;
    spec.location = op->location_;
    std::vector<TensorType> types;
    for (const Tensor* output : op->outputs_) {
      spec.output_names.push_back(output->name_);
      types.push_back(output->type_);
    }
    for (const auto& body : op->bodies_) spec.bodies.push_back(body->clone());
    std::vector<Tensor*> inputs;
    for (const Tensor* input : op->inputs_)
      inputs.push_back(input == nullptr ? nullptr : map[input->id_]);
    auto added = copy->add_typed(op->kind_, std::move(inputs), std::move(spec), std::move(types));
    assert(added.ok());
    for (size_t i = 0; i < op->outputs_.size(); ++i)
      carry(op->outputs_[i], added.value()->outputs_[i]);
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    copy->add_output(output_names_[i], map[outputs_[i]->id_]);
  return copy;
}

namespace {

bool same_tensor(const Tensor* a, const Tensor* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->name() == b->name() && a->type() == b->type() && a->is_constant() == b->is_constant() &&
         (!a->is_constant() || a->raw_data() == b->raw_data());
}

bool same_tensors(const std::vector<Tensor*>& a, const std::vector<Tensor*>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_tensor(a[i], b[i])) return false;
  return true;
}

bool same_operation(const Operation& a, const Operation& b) {
  if (a.kind() != b.kind() || !(a.attrs() == b.attrs()) || !(a.location() == b.location()))
    return false;
  if (!same_tensors(a.inputs(), b.inputs()) || !same_tensors(a.outputs(), b.outputs()))
    return false;
  if (a.bodies().size() != b.bodies().size()) return false;
  for (size_t i = 0; i < a.bodies().size(); ++i)
    if (!(*a.bodies()[i] == *b.bodies()[i])) return false;
  return true;
}

}  // namespace

bool Graph::operator==(const Graph& other) const {
  if (name_ != other.name_ || metadata_ != other.metadata_ || output_names_ != other.output_names_)
    return false;
  if (!same_tensors(inputs_, other.inputs_) || !same_tensors(outputs_, other.outputs_))
    return false;
  const auto a = topological();
  const auto b = other.topological();
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_operation(*a[i], *b[i])) return false;
  return true;
}

}  // namespace ec
