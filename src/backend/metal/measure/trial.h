// Runs of a model in single precision and in the form that a package gives it: which values half
// precision cannot hold, and what the form costs at the outputs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "backend/metal/half_precision.h"
#include "backend/metal/measure/sparing.h"
#include "quantize/trial/reference_outputs.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {

class Trial {
 public:
  // `graph` has the package's interface and computes in single precision. Its samples are the
  // user's where the job has some, else random inputs. What cannot be run is no error: the costs
  // say why. A limit takes more samples.
  Trial(const Graph& graph, const ModelJob& job, std::span<const CoremlImageInput> images,
        const quantize::AccuracyBudget& limit = {});

  // Operations that read or give numbers beyond half precision on the samples, with the reason.
  const OperationReasons& overflows() const { return overflows_; }

  // What the graph with halves costs, as `form` calls it.
  FormCost cost_of(const Graph& written, std::string form) const;

  // Why nothing could be measured; empty: it was.
  const std::string& reason() const { return reason_; }
  // The same graph as limits see it. Usage: the limit speaks of answers, and the outputs have none.
  Result<FormOutcome> judge(const Graph& written) const;
  // Noise over signal of the worst output, on one sample.
  Result<double> noise_of(const Graph& written) const;
  // Runs of one sample that a search may take.
  size_t affordable_runs() const;

 private:
  using Results = std::vector<std::vector<Value>>;  // by sample and output

  Status run_single(const Graph& graph);
  void find_meaning();
  Result<Results> run_half(const Graph& written, size_t samples) const;
  // A copy with the samples' shapes where sizes are open; null: none is.
  Result<std::unique_ptr<Graph>> at_sample_sizes(const Graph& graph) const;

  BudgetLimits limits_;
  quantize::AccuracyBudget limit_;
  std::unique_ptr<Graph> single_;  // in single precision
  quantize::OutputMeaning meaning_;
  std::string inputs_, reason_;
  std::vector<std::vector<Value>> samples_;
  Results results_;
  OperationReasons overflows_;
};

}  // namespace ec::metal
