#include "frontend/torch/script/outline.h"

#include <algorithm>
#include <unordered_map>

namespace ec::torch::script {
namespace {

bool is_inside(const ec::Tensor* tensor, const Branch& branch) {
  const ec::Operation* producer = tensor->producer();
  return producer != nullptr && producer->id() >= branch.first && producer->id() < branch.last;
}

// What the branch reads from outside, each once, in order.
void find_captures(const ec::Graph& graph, const Branch& branch,
                   std::vector<ec::Tensor*>& captures) {
  const auto capture = [&](ec::Tensor* tensor) {
    if (tensor == nullptr || tensor->is_constant() || is_inside(tensor, branch)) return;
    if (std::find(captures.begin(), captures.end(), tensor) == captures.end())
      captures.push_back(tensor);
  };
  for (uint32_t id = branch.first; id < branch.last; ++id)
    if (const ec::Operation* op = graph.operation(id))
      for (ec::Tensor* input : op->inputs()) capture(input);
  for (ec::Tensor* result : branch.results) capture(result);
}

Result<std::unique_ptr<ec::Graph>> make_body(const ec::Graph& graph, const Branch& branch,
                                             const std::vector<ec::Tensor*>& captures,
                                             std::string name) {
  auto body = std::make_unique<ec::Graph>(std::move(name));
  std::unordered_map<const ec::Tensor*, ec::Tensor*> map;  // looked up, never iterated
  for (const ec::Tensor* capture : captures)
    map[capture] = body->add_input(capture->name(), capture->type());
  const auto inside = [&](ec::Tensor* tensor) -> ec::Tensor* {
    if (tensor == nullptr) return nullptr;
    ec::Tensor*& mapped = map[tensor];
    if (mapped == nullptr)
      mapped = body->add_constant(tensor->name(), tensor->type(), tensor->raw_data());
    return mapped;
  };
  for (uint32_t id = branch.first; id < branch.last; ++id) {
    const ec::Operation* op = graph.operation(id);
    if (op == nullptr) continue;
    OpSpec spec;
    spec.attrs = op->attrs();
    spec.location = op->location();
    spec.num_outputs = op->outputs().size();
    std::vector<TensorType> types;
    for (const ec::Tensor* output : op->outputs()) {
      spec.output_names.push_back(output->name());
      types.push_back(output->type());
    }
    for (const auto& nested : op->bodies()) spec.bodies.push_back(nested->clone());
    std::vector<ec::Tensor*> inputs;
    for (ec::Tensor* input : op->inputs()) inputs.push_back(inside(input));
    EC_TRY(const ec::Operation* copy,
           body->add_typed(op->kind(), std::move(inputs), std::move(spec), std::move(types)));
    for (size_t i = 0; i < op->outputs().size(); ++i) map[op->output(i)] = copy->output(i);
  }
  for (size_t i = 0; i < branch.results.size(); ++i)
    body->add_output("result" + std::to_string(i), inside(branch.results[i]));
  return body;
}

}  // namespace

void erase_operations(ec::Graph& graph, uint32_t first, uint32_t last) {
  for (uint32_t id = last; id-- > first;)
    if (ec::Operation* op = graph.operation(id)) graph.erase(op);
}

Result<ec::Operation*> outline_if(ec::Graph& graph, ec::Tensor* condition, const Branch& yes,
                                  const Branch& no, Location location) {
  std::vector<ec::Tensor*> operands = {condition};
  std::vector<ec::Tensor*> captures;
  find_captures(graph, yes, captures);
  find_captures(graph, no, captures);
  OpSpec spec;
  spec.location = std::move(location);
  spec.num_outputs = yes.results.size();
  for (const Branch* branch : {&yes, &no}) {
    EC_TRY(std::unique_ptr<ec::Graph> body,
           make_body(graph, *branch, captures, branch == &yes ? "then" : "else"));
    spec.bodies.push_back(std::move(body));
  }
  operands.insert(operands.end(), captures.begin(), captures.end());
  return graph.add(OpKind::If, std::move(operands), std::move(spec));
}

}  // namespace ec::torch::script
