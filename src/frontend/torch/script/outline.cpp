#include "frontend/torch/script/outline.h"

#include "analysis/subgraph.h"

namespace ec::torch::script {
namespace {

std::vector<const ec::Operation*> operations_of(const ec::Graph& graph, const Branch& branch) {
  std::vector<const ec::Operation*> operations;
  for (uint32_t id = branch.first; id < branch.last; ++id)
    if (const ec::Operation* op = graph.operation(id)) operations.push_back(op);
  return operations;
}

}  // namespace

void erase_operations(ec::Graph& graph, uint32_t first, uint32_t last) {
  for (uint32_t id = last; id-- > first;)
    if (ec::Operation* op = graph.operation(id)) graph.erase(op);
}

Result<ec::Operation*> outline_if(ec::Graph& graph, ec::Tensor* condition, const Branch& yes,
                                  const Branch& no, Location location) {
  const auto first = operations_of(graph, yes), second = operations_of(graph, no);
  std::vector<ec::Tensor*> captures = outside_operands(first, yes.results);
  const auto more = outside_operands(second, no.results, captures);
  captures.insert(captures.end(), more.begin(), more.end());
  OpSpec spec;
  spec.location = std::move(location);
  spec.num_outputs = yes.results.size();
  for (const Branch* branch : {&yes, &no}) {
    std::vector<SubgraphOutput> results;
    for (size_t i = 0; i < branch->results.size(); ++i)
      results.push_back({"result" + std::to_string(i), branch->results[i]});
    const bool is_yes = branch == &yes;
    EC_TRY(std::unique_ptr<ec::Graph> body,
           extract_subgraph(is_yes ? "then" : "else", is_yes ? first : second, captures, results));
    spec.bodies.push_back(std::move(body));
  }
  std::vector<ec::Tensor*> operands = {condition};
  operands.insert(operands.end(), captures.begin(), captures.end());
  return graph.add(OpKind::If, std::move(operands), std::move(spec));
}

}  // namespace ec::torch::script
