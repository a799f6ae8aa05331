// Operations that an import keeps although it cannot say what they compute. `inspect` and `check`
// ask for them, so that they see the whole model: each becomes a custom operation at its place in
// the graph, and its problem is listed here under the same name and operator.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec {

// Problems that say what this compiler cannot do, not what is wrong with the file.
bool is_unsupported(Code code);
// Those, and faults of a model that can be shown all the same: names, numbers of inputs, types and
// shapes that do not fit. Not files that cannot be read, nor options that do not fit.
bool can_be_shown(Code code);

struct KeptOperation {
  Diagnostic problem;  // node and op_type are those of the custom operation
  // It reads what another kept operation gives, whose types may be guessed: whether the operation
  // itself is supported is not known.
  bool unjudged = false;
};

class KeptOperations {
 public:
  enum class Scope : uint8_t {
    Unsupported,  // what this compiler cannot do; faults of the file stay errors
    Everything,   // whatever can be parsed
  };
  explicit KeptOperations(Scope scope) : scope_(scope) {}

  Scope scope() const { return scope_; }
  bool takes_faults() const { return scope_ == Scope::Everything; }
  // Whether an operation with this problem and these operands is kept.
  bool takes(Code code, std::span<Tensor* const> inputs) const;
  // Whether a problem of the model as a whole is no error of the import.
  bool takes_problem(Code code) const { return takes_faults() && can_be_shown(code); }

  // Adds the custom operation. `types` are what the file declares of the results, or a guess.
  Result<Operation*> add(Graph& graph, std::vector<Tensor*> inputs, std::vector<TensorType> types,
                         Location location, Diagnostic problem);

  // The same for an operation that may be supported: only a run of the program would tell.
  Result<Operation*> add_unjudged(Graph& graph, std::vector<Tensor*> inputs,
                                  std::vector<TensorType> types, Location location, Diagnostic why);

  const std::vector<KeptOperation>& operations() const { return operations_; }

 private:
  Result<Operation*> add_custom(Graph& graph, std::vector<Tensor*> inputs,
                                std::vector<TensorType> types, Location location,
                                KeptOperation kept);
  // The kept operation that the operands depend on; null: none.
  const Operation* origin_of(std::span<Tensor* const> inputs) const;

  Scope scope_;
  std::vector<KeptOperation> operations_;
  std::unordered_set<std::string> names_;  // looked up, never iterated
};

// Removes what a conversion added before it failed: operations from `first_operation` on, and
// constants from `first_tensor` on that nothing reads and `is_bound` does not name.
void erase_unfinished(Graph& graph, size_t first_operation, size_t first_tensor,
                      const std::function<bool(const Tensor*)>& is_bound);

}  // namespace ec
