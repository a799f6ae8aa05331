// Runs of the float graph in which chosen tensors and weights are rounded as integers would round
// them: what one layer, or one choice of a range, costs at the outputs. Nothing is rebuilt between
// runs, so that many choices can be tried.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ops/value.h"
#include "quantize/calibration/sample_source.h"
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

// What results are judged by: the outputs, or what enters the softmax that makes one, where an
// error counts alike whether the network is sure of its answer or not.
std::vector<const Tensor*> judged_tensors(const Graph& graph);

// Squared error of those against the exact run.
struct OutputError {
  double noise = 0, signal = 0;  // each output's share weighs the same
  double sqnr_db() const;
};

// What a choice has to reach: the noise of all parts lowered by the first factor, of none raised by
// more than the second. What clips a rare large value looks good wherever that value does not come.
struct Worthwhile {
  double total = 0.97, part = 1.02;
};
bool is_better(std::span<const OutputError> now, std::span<const OutputError> before,
               const Worthwhile& worthwhile);

class Trial {
 public:
  static Result<std::unique_ptr<Trial>> create(const Graph& graph, const Plan& plan, int threads);
  ~Trial();

  // Keeps the sample and the exact outputs for it. `weight`: how many samples it stands for.
  Status add_sample(std::vector<Value> sample, double weight = 1);
  // Of a source; where that plays measurements back, nothing is read or run.
  Status add_sample(SampleSource& source, size_t index, double weight = 1);
  size_t samples() const { return num_samples_; }
  void keep_samples(size_t count);  // drops those beyond

  // Over all samples added.
  Result<OutputError> measure(const Rounding& rounding);
  // Into how many parts the samples fall, and the error of one.
  size_t parts() const;
  size_t samples_of_part(size_t part) const;
  Result<OutputError> measure_part(const Rounding& rounding, size_t part);

 private:
  Trial(const Graph& graph, const Plan& plan, int threads);
  // What is judged of one sample, by output.
  Result<std::vector<Value>> run(Executor& executor, const std::vector<Value>& sample);
  Result<OutputError> measure_every(const Rounding& rounding, size_t part, size_t parts);
  Result<std::vector<Value>> run_rounded(size_t sample, const Rounding& rounding);
  Result<OutputError> run_every(const Rounding& rounding, size_t part, size_t parts);
  Status edit(const Tensor& tensor, const MutableView& value);
  void look_at(const Tensor& tensor, const MutableView& value);
  void round(const Tensor& tensor, const MutableView& value) const;
  // The executor for a run: the exact one, or one that has all integer weights in it.
  Result<Executor*> executor_for(const Rounding& rounding);
  Status apply_weights(const Operation& op, const IntegerWeights& weights,
                       const MutableView& value);

  struct Layer;    // one operation with integer weights, by itself
  struct Rounded;  // the whole graph with integer weights

  const Graph& graph_;
  const Plan& plan_;
  std::shared_ptr<kernels::ThreadPool> pool_;
  std::unique_ptr<Executor> executor_;
  Measurements* measurements_ = nullptr;
  size_t num_samples_ = 0;
  std::vector<std::vector<Value>> samples_;  // empty where measurements are played back
  std::vector<double> weights_;              // of the samples
  std::vector<std::vector<Value>> expected_;
  std::vector<const Tensor*> judged_;                               // by output
  std::vector<Value> seen_;                                         // of those, in the present run
  std::map<const IntegerWeights*, std::unique_ptr<Layer>> layers_;  // looked up, never iterated
  std::unique_ptr<Rounded> rounded_;                                // the last one
  std::vector<Value> layer_inputs_;  // by tensor id: what a layer of this run reads
  const Rounding* rounding_ = nullptr;
  Status failure_;
};

// Multiplications and moved elements, about, of an operation and of one run of a graph.
double work_of(const Operation& op);
double work_of_run(const Graph& graph);

// In place: to the nearest step and back, saturated.
void round_to_steps(std::span<float> values, const QuantParams& params, DType dtype);

}  // namespace ec::quantize
