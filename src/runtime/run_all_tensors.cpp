// A run that shows every tensor: operations one by one with the kernels that define them.
#include "ops/attrs.h"
#include "ops/kernel.h"
#include "runtime/session.h"

namespace ec {

Status Session::run_all_tensors(std::span<const NamedValue> inputs,
                                const TensorObserver& observer) {
  const std::lock_guard lock(mutex_);
  if (graph_ == nullptr && !open_) return Error(Code::SessionClosed, "the session is closed");
  EC_TRY(std::vector<Value> given, arrange(inputs));
  EC_TRY(const Graph* graph, graph_for(given));
  std::vector<std::optional<Value>> values(graph->tensor_id_bound());
  std::vector<size_t> readers(graph->tensor_id_bound(), 0);
  for (const Tensor* tensor : graph->tensors()) {
    readers[tensor->id()] = tensor->uses().size();
    if (tensor->is_constant())
      values[tensor->id()] = Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    given[i].data = given[i].data.aligned();
    values[graph->inputs()[i]->id()] = std::move(given[i]);
  }
  for (const Operation* op : graph->topological()) {
    std::vector<const Value*> operands;
    for (const Tensor* tensor : op->inputs())
      operands.push_back(tensor == nullptr ? nullptr : &*values[tensor->id()]);
    EC_TRY(std::vector<Value> results, evaluate(*op, operands));
    if (op->kind() == OpKind::ReadState && state_ != nullptr)
      if (const Value* kept = state_->find(op->attrs_as<StateAttrs>().name)) results[0] = *kept;
    for (size_t i = 0; i < results.size(); ++i) {
      observer(*op->output(i), results[i].view());
      values[op->output(i)->id()] = std::move(results[i]);
    }
    for (const Tensor* tensor : op->inputs())
      if (tensor != nullptr && --readers[tensor->id()] == 0) values[tensor->id()].reset();
  }
  return {};
}

}  // namespace ec
