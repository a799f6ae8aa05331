// One run of a graph in which chosen tensors and weights are rounded as integers would round them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ops/value.h"
#include "quantize/weights/weights.h"
#include "runtime/executor.h"

namespace ec::quantize {

// What to round in a run.
struct Rounding {
  // By form; only those that are stored and not empty are rounded, and constants that integer
  // operations read beside their weights.
  FormParams forms;
  // By operation id; null: exact weights.
  std::vector<const IntegerWeights*> weights;
};
// Rounds everything that the plan makes integer.
Rounding round_all(const Graph& graph, const Plan& plan, const FormParams& params,
                   const LayerWeights& weights);

// The tensor that an output is judged by: the output itself, or the operand of the softmax that
// makes it, where an error counts alike whether the network is sure of its answer or not.
struct JudgedTensor {
  const Tensor* tensor = nullptr;
  std::optional<size_t> softmax_axis;
};
std::vector<JudgedTensor> judged_outputs(const Graph& graph);

// Rounds values, in place, to the nearest step that the type has.
void round_to_steps(std::span<float> values, const QuantParams& params, DType dtype);

// The graph with the real values of integer weights and other constants in it, for runs that round
// many layers.
struct RoundedGraph {
  // What it was made for: by operation id, and by form.
  std::vector<std::optional<IntegerWeights>> weights;
  std::map<FormId, QuantParams> constants;
  std::unique_ptr<Graph> graph;
  std::vector<const Tensor*> original;  // by tensor id of this graph

  static std::shared_ptr<const RoundedGraph> create(const Graph& graph, const Plan& plan,
                                                    const Rounding& rounding);
  bool serves(const Rounding& rounding) const;
};

// Runs on one thread at a time; several runners may work on the same graph side by side.
class RoundedRunner {
 public:
  // `judged`: by output, what runs give for it.
  static Result<std::unique_ptr<RoundedRunner>> create(const Graph& graph, const Plan& plan,
                                                       std::vector<JudgedTensor> judged,
                                                       std::shared_ptr<kernels::ThreadPool> pool);
  ~RoundedRunner();

  // The graph for the next roundings, whose weights it has; null: those have at most one layer.
  Status use(std::shared_ptr<const RoundedGraph> rounded);

  // What is judged, by output.
  Result<std::vector<Value>> run_exact(const std::vector<Value>& sample);
  Result<std::vector<Value>> run(const std::vector<Value>& sample, const Rounding& rounding);

 private:
  RoundedRunner(const Graph& graph, const Plan& plan, std::vector<JudgedTensor> judged,
                std::shared_ptr<kernels::ThreadPool> pool);
  Result<std::vector<Value>> run_on(Executor& executor, const std::vector<Value>& sample);
  Status edit(const Tensor& tensor, const MutableView& value);
  void look_at(const Tensor& tensor, const MutableView& value);
  void round(const Tensor& tensor, const MutableView& value) const;
  Status apply_weights(const Operation& op, const IntegerWeights& weights,
                       const MutableView& value);

  struct Layer;  // one operation with integer weights, by itself
  Result<std::unique_ptr<Layer>> make_layer(const Operation& op, const IntegerWeights& weights);

  const Graph& graph_;
  const Plan& plan_;
  std::shared_ptr<kernels::ThreadPool> pool_;
  std::unique_ptr<Executor> exact_;
  std::shared_ptr<const RoundedGraph> rounded_graph_;
  std::unique_ptr<Executor> rounded_;
  Executor* active_ = nullptr;                                      // one of the two
  std::vector<JudgedTensor> judged_;                                // by output
  std::vector<Value> seen_;                                         // of those, in the present run
  std::map<const IntegerWeights*, std::unique_ptr<Layer>> layers_;  // looked up, never iterated
  std::vector<Value> layer_inputs_;  // by tensor id: what a layer of this run reads
  const Rounding* rounding_ = nullptr;
  Status failure_;
};

}  // namespace ec::quantize
