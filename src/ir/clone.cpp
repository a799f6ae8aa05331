// Copying and comparing whole graphs.
#include <cassert>

#include "ir/copier.h"
#include "ir/graph.h"

namespace ec {

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name_);
  copy->metadata_ = metadata_;
  GraphCopier copier(*copy);
  copier.reserve(tensors_.size());
  for (const Tensor* input : inputs_) copier.add_input(input);
  copier.copy_constants(*this);
  for (const Operation* op : topological()) {
    [[maybe_unused]] const auto added = copier.copy(*op);
    assert(added.ok());
  }
  for (const auto& tensor : tensors_)
    if (Tensor* mine = tensor ? copier.find(tensor.get()) : nullptr)
      mine->named_by_source_ = tensor->named_by_source_;
  for (size_t i = 0; i < outputs_.size(); ++i)
    copy->add_output(output_names_[i], copier.find(outputs_[i]));
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
