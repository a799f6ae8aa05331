// Copies operations from one graph into another. Names, locations, types with quantisation, dim
// values and nested bodies stay; constants share their bytes.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace ec {

// Adds a copy of `op` that reads `operands` and whose results have `types`, which may be fewer than
// the operation has. Dim values stay where the element type stays.
Result<Operation*> copy_operation(Graph& to, const Operation& op, std::vector<Tensor*> operands,
                                  std::vector<TensorType> types);

// Remembers which tensor of the new graph stands for which tensor of the old one. Several copiers
// may fill the same graph.
class GraphCopier {
 public:
  explicit GraphCopier(Graph& to) : to_(to) {}

  Graph& graph() { return to_; }
  void reserve(size_t tensors) { copies_.reserve(tensors); }

  // `copy` stands for `tensor` from now on.
  void map(const Tensor* tensor, Tensor* copy) { copies_[tensor] = copy; }
  // Null: nothing stands for it yet.
  Tensor* find(const Tensor* tensor) const;
  // Makes the tensor an input of the new graph.
  Tensor* add_input(const Tensor* tensor);
  // What stands for the tensor; a constant is copied when it is first asked for. Null stays null,
  // and a tensor that was never copied or mapped is null, too.
  Tensor* operand(const Tensor* tensor);
  // Copies all constants of a graph in the order of their ids.
  void copy_constants(const Graph& from);
  // Its operands must be constant, mapped or results of copied operations.
  Result<Operation*> copy(const Operation& op);

 private:
  Graph& to_;
  std::unordered_map<const Tensor*, Tensor*> copies_;  // looked up, never iterated
};

}  // namespace ec
