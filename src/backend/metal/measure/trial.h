// Runs of a model in single precision and in the form that a package gives it: which values half
// precision cannot hold, and what the form costs at the outputs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "backend/metal/half_precision.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {

class Trial {
 public:
  // `graph` has the package's interface and computes in single precision. Its samples are the
  // user's where the job has some, else random inputs. What cannot be run is no error: the costs
  // say why.
  Trial(const Graph& graph, const ModelJob& job, std::span<const CoremlImageInput> images);

  // Operations that read or give numbers beyond half precision on the samples, with the reason.
  const OperationReasons& overflows() const { return overflows_; }

  // What the graph with halves costs, as `form` calls it.
  FormCost cost_of(const Graph& written, std::string form) const;

 private:
  using Results = std::vector<std::vector<Value>>;  // by sample and output

  Status choose_samples(const Graph& graph, const ModelJob& job,
                        std::span<const CoremlImageInput> images);
  Status run_single(const Graph& graph);
  Result<Results> run_half(const Graph& written) const;

  BudgetLimits limits_;
  std::string inputs_, reason_;
  std::vector<std::vector<Value>> samples_;
  Results results_;
  OperationReasons overflows_;
};

}  // namespace ec::metal
