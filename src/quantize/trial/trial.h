// Trial runs: samples go through the float graph with chosen tensors and weights rounded, to see
// what one layer or one choice of a range costs at the outputs. Nothing is rebuilt between runs, so
// that many choices can be tried.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "quantize/calibration/sample_source.h"
#include "quantize/trial/reference_outputs.h"
#include "quantize/trial/rounded_run.h"
#include "quantize/tuning.h"

namespace ec::quantize {

// Squared error of the outputs against the exact run.
struct OutputError {
  double noise = 0, signal = 0;  // each part's share of noise weighs the same
  // The noise by which choices are judged, between that of all samples together and that of a
  // typical one (their geometric mean): a few samples with large errors count, but do not decide
  // what is better for all others. Where a softmax makes many predictions for each sample, what
  // its probabilities lose counts as much as the noise in front of it: among thousands of classes,
  // of which most never matter, the same noise may leave all answers as they are, or change every
  // one.
  // Over all parts of all outputs, the worst counts most. Where the outputs are those of a task
  // with sums of its own (tasks::Difference), these decide.
  double judged = 0;
  std::vector<double> parts = {};  // the same for each part by itself
  bool by_task = false;            // `judged` is that of the task
  double sqnr_db() const;          // as judged
  // What grows with every error that is added: of a task what its answers lose, else the noise.
  double cost() const { return by_task ? judged : noise; }
};
OutputError sum_of(std::span<const OutputError> subsets);

// Whether a change is worth keeping: `now` and `before` hold an error for each subset of samples.
// No subset may lose more than the factor says; of detections no more than all together gain.
bool is_better(std::span<const OutputError> now, std::span<const OutputError> before,
               const tuning::NoiseFactors& wanted);

class Trial {
 public:
  // Small networks run one sample per thread, large ones one sample with all threads. `reference`
  // holds the exact outputs of `graph`, shared with other trials of the same graph.
  static Result<std::unique_ptr<Trial>> create(const Graph& graph, const Plan& plan, int threads,
                                               std::shared_ptr<ReferenceOutputs> reference);

  // Keeps the sample and the exact outputs for it. `weight`: how many samples it stands for. Where
  // the source plays measurements back, nothing is read or run.
  Status add_sample(SampleSource& source, size_t index, double weight = 1);
  size_t samples() const { return num_samples_; }
  void keep_samples(size_t count);  // drops those beyond
  // Drops all but those with most answers to lose, where the outputs are those of a task.
  void keep_telling_samples(size_t count);

  // The error over all samples added.
  Result<OutputError> measure(const Rounding& rounding);
  // The samples fall into subsets, each with an error of its own.
  size_t num_subsets() const;
  size_t subset_size(size_t subset) const;
  Result<OutputError> measure_subset(const Rounding& rounding, size_t subset);

 private:
  Trial(const Graph& graph, const Plan& plan, std::shared_ptr<ReferenceOutputs> reference);
  Result<OutputError> measure_every(const Rounding& rounding, size_t subset, size_t num_subsets);
  Result<OutputError> run_every(const Rounding& rounding, size_t subset, size_t num_subsets);
  Status prepare(const Rounding& rounding);
  // A part of an output, or the operand of the softmax that makes the output.
  struct JudgedPart {
    size_t output = 0;
    OutputPart part;
    std::optional<size_t> softmax_axis;
  };
  // The error of one part and sample.
  struct SampleError {
    double noise = 0, signal = 0;
    // Divergence of probabilities where they are many, as a share of that of a uniform guess.
    std::optional<double> divergence;
  };
  // By part, and that of the task behind them.
  Result<std::vector<SampleError>> errors_of(size_t sample, const Rounding& rounding,
                                             RoundedRunner& runner) const;
  class ErrorOfPart;

  const Graph& graph_;
  const Plan& plan_;
  std::shared_ptr<ReferenceOutputs> reference_;
  std::vector<JudgedTensor> tensors_;  // by output
  std::vector<JudgedPart> judged_;
  std::shared_ptr<const OutputTask> task_;               // that judges; null: parts do
  std::unique_ptr<kernels::ThreadPool> team_;            // runs samples side by side
  std::vector<std::unique_ptr<RoundedRunner>> runners_;  // by thread of the team
  std::shared_ptr<const RoundedGraph> rounded_;          // the last one
  Measurements* measurements_ = nullptr;
  size_t num_samples_ = 0;
  std::vector<std::vector<Value>> samples_;  // empty where measurements are played back
  std::vector<double> weights_;              // by sample
  std::vector<std::vector<Value>> expected_;
};

// The cost of an operation, and of one run of a graph: multiplications, and moved elements as
// tuning::kCostOfElement of them each.
double cost_of(const Operation& op);
double cost_of_run(const Graph& graph);

}  // namespace ec::quantize
