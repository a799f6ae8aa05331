#include "passes/inline_body.h"

namespace ec {

Result<std::vector<Tensor*>> inline_body(Graph& graph, const Graph& body,
                                         const std::vector<Tensor*>& arguments,
                                         std::vector<Operation*>* added) {
  std::vector<Tensor*> map(body.tensor_id_bound(), nullptr);
  for (size_t i = 0; i < body.inputs().size(); ++i) map[body.inputs()[i]->id()] = arguments[i];
  for (const Tensor* tensor : body.tensors())
    if (tensor->is_constant())
      map[tensor->id()] = graph.add_constant(tensor->name(), tensor->type(), tensor->raw_data());
  for (const Operation* op : body.topological()) {
    OpSpec spec;
    spec.attrs = op->attrs();
    spec.location = op->location();
    std::vector<TensorType> types;
    for (const Tensor* output : op->outputs()) {
      spec.output_names.push_back(output->name());
      types.push_back(output->type());
    }
    for (const auto& nested : op->bodies()) spec.bodies.push_back(nested->clone());
    std::vector<Tensor*> inputs;
    for (const Tensor* input : op->inputs())
      inputs.push_back(input == nullptr ? nullptr : map[input->id()]);
    EC_TRY(Operation * copy,
           graph.add_typed(op->kind(), std::move(inputs), std::move(spec), std::move(types)));
    if (added != nullptr) added->push_back(copy);
    for (size_t i = 0; i < op->outputs().size(); ++i) {
      graph.set_dim_values(copy->output(i), op->output(i)->dim_values());
      map[op->output(i)->id()] = copy->output(i);
    }
  }
  std::vector<Tensor*> results;
  for (const Tensor* output : body.outputs()) results.push_back(map[output->id()]);
  return results;
}

}  // namespace ec
