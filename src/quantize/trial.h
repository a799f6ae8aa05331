// Runs of the float graph in which chosen tensors and weights are rounded as integers would round
// them: what one layer, or one choice of a range, costs at the outputs. Nothing is rebuilt between
// runs, so that many choices can be tried.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ops/value.h"
#include "quantize/weights.h"
#include "runtime/executor.h"

namespace ec::quantize {

// What to round in a run.
struct Rounding {
  FormParams forms;  // by form; only those that are stored and not empty are rounded
  // By operation id; null: exact weights.
  std::vector<const IntegerWeights*> weights;
};
// Everything that the plan makes integer.
Rounding round_all(const Graph& graph, const Plan& plan, const FormParams& params,
                   const LayerWeights& weights);

// Squared error at the outputs against the exact run.
struct OutputError {
  double noise = 0, signal = 0;  // each output's share weighs the same
  double sqnr_db() const;
};

class Trial {
 public:
  static Result<std::unique_ptr<Trial>> create(const Graph& graph, const Plan& plan, int threads);
  ~Trial();

  // Keeps the sample and the exact outputs for it.
  Status add_sample(std::vector<Value> sample);
  size_t samples() const { return samples_.size(); }
  void keep_samples(size_t count);  // drops those beyond

  // Over all samples added.
  Result<OutputError> measure(const Rounding& rounding);
  // Outputs for one sample, by its index.
  Result<std::vector<Value>> run(size_t sample, const Rounding& rounding);

 private:
  Trial(const Graph& graph, const Plan& plan, int threads);
  Status edit(const Tensor& tensor, const MutableView& value);
  Status apply_weights(const Operation& op, const IntegerWeights& weights,
                       const MutableView& value);

  struct Layer;  // one operation with integer weights, by itself

  const Graph& graph_;
  const Plan& plan_;
  std::shared_ptr<kernels::ThreadPool> pool_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::vector<Value>> samples_;
  std::vector<std::vector<Value>> expected_;
  std::map<const IntegerWeights*, std::unique_ptr<Layer>> layers_;  // looked up, never iterated
  std::vector<Value> layer_inputs_;  // by tensor id: what a layer of this run reads
  const Rounding* rounding_ = nullptr;
  Status failure_;
};

// Multiplications and moved elements of one run, about: what trials of this graph cost.
double work_of_run(const Graph& graph);

// In place: to the nearest step and back, saturated.
void round_to_steps(std::span<float> values, const QuantParams& params, DType dtype);

}  // namespace ec::quantize
