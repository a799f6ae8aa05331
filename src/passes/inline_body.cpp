#include "passes/inline_body.h"

#include "ir/copier.h"

namespace ec {

Result<std::vector<Tensor*>> inline_body(Graph& graph, const Graph& body,
                                         const std::vector<Tensor*>& arguments,
                                         std::vector<Operation*>* added) {
  GraphCopier copier(graph);
  for (size_t i = 0; i < body.inputs().size(); ++i) copier.map(body.inputs()[i], arguments[i]);
  copier.copy_constants(body);
  for (const Operation* op : body.topological()) {
    EC_TRY(Operation * copy, copier.copy(*op));
    if (added != nullptr) added->push_back(copy);
  }
  std::vector<Tensor*> results;
  for (const Tensor* output : body.outputs()) results.push_back(copier.find(output));
  return results;
}

}  // namespace ec
