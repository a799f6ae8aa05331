#include "analysis/subgraph.h"

#include <unordered_set>

#include "ir/copier.h"

namespace ec {

std::vector<Tensor*> outside_operands(std::span<const Operation* const> operations,
                                      std::span<Tensor* const> results,
                                      std::span<Tensor* const> known) {
  std::unordered_set<const Tensor*> seen(known.begin(), known.end());
  for (const Operation* op : operations) seen.insert(op->outputs().begin(), op->outputs().end());
  std::vector<Tensor*> outside;
  const auto read = [&](Tensor* tensor) {
    if (tensor == nullptr || tensor->is_constant()) return;
    if (seen.insert(tensor).second) outside.push_back(tensor);
  };
  for (const Operation* op : operations)
    for (Tensor* input : op->inputs()) read(input);
  for (Tensor* result : results) read(result);
  return outside;
}

Result<std::unique_ptr<Graph>> extract_subgraph(std::string name,
                                                std::span<const Operation* const> operations,
                                                std::span<Tensor* const> inputs,
                                                std::span<const SubgraphOutput> outputs) {
  auto graph = std::make_unique<Graph>(std::move(name));
  GraphCopier copier(*graph);
  for (const Tensor* input : inputs) copier.add_input(input);
  for (const Operation* op : operations) EC_CHECK_OK(copier.copy(*op));
  for (const SubgraphOutput& output : outputs) {
    Tensor* tensor = copier.operand(output.tensor);
    if (tensor == nullptr)
      return Error(Code::Internal, "output '" + output.name + "' of a subgraph has no producer");
    graph->add_output(output.name, tensor);
  }
  return graph;
}

}  // namespace ec
