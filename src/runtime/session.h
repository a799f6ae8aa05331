// A model ready to run: checks what the caller gives against the graph's interface, keeps one
// executor per set of input shapes, measures.
//
// The session takes the graph as it is; whoever loads the model optimises it first. A model with
// open sizes is optimised for every set of input shapes that it is fed with (OpenModel): a graph
// with open sizes runs, but fusions and layouts that need sizes are lost on it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace ec {

struct SessionOptions {
  int threads = 1;         // 0: one per core
  bool reference = false;  // reference kernels only
  bool profile = false;    // collect per-operation times
  bool plan_only = false;  // which kernels would run, at no cost in memory; the session cannot run
  // Keep the model's state from run to run, as LiteRT does. false: every run starts anew.
  bool keep_state = true;
  TensorObserver observer;
  kernels::Isa isa = kernels::best_isa();
};

struct TensorDescription {
  std::string name;
  TensorType type;  // open dimensions keep their symbols; quantisation where the model has it
};

struct NamedValue {
  std::string name;
  Value value;
};

struct BenchmarkOptions {
  int64_t warmup = 10;
  int64_t iterations = 100;
};

struct BenchmarkStats {
  int64_t iterations = 0;
  double mean_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, min_ms = 0, max_ms = 0;
  double throughput_fps = 0;  // runs per second
};

// What computes the results in place of this machine's CPU: a device that has the model already.
class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  // One value per input, of its type and size; results in output order.
  virtual Result<std::vector<Value>> run(std::span<const Value> inputs) = 0;
  // Sets the model's state to its initial values; devices without state have nothing to do.
  virtual Status reset() { return {}; }
};

// A model with open sizes.
struct OpenModel {
  std::shared_ptr<const Graph> interface;  // inputs and outputs, with open sizes
  // The graph to run for inputs of these types, optimised for them. Its inputs and outputs are
  // those of `interface`, in the same order.
  std::function<Result<std::unique_ptr<Graph>>(std::span<const TensorType>)> specialise;
  // Shapes of inputs that the session prepares for at once, by name: the likely ones.
  std::map<std::string, std::vector<int64_t>> default_shapes;
};

class Session {
 public:
  // Prepares at once when every input shape is fixed; else at the first run with new shapes.
  static Result<std::unique_ptr<Session>> create(std::unique_ptr<Graph> graph,
                                                 const SessionOptions& options);

  // For a model with open sizes: one program per set of input shapes, made when it is first fed.
  static Result<std::unique_ptr<Session>> create_open(OpenModel model,
                                                      const SessionOptions& options);

  // A session whose runs a device does; the graph tells inputs and outputs.
  static std::unique_ptr<Session> on_device(const Graph& interface,
                                            std::unique_ptr<DeviceRunner> device, int threads);

  const std::vector<TensorDescription>& inputs() const { return inputs_; }
  const std::vector<TensorDescription>& outputs() const { return outputs_; }

  // The shape that an input has, or that an open model was prepared for; nothing when a size is not
  // known.
  std::optional<std::vector<int64_t>> default_shape(const TensorDescription& input) const;

  // Every input once, by name, in any order; results in output order.
  Result<std::vector<Value>> run(std::span<const NamedValue> inputs);
  // One run with reference kernels in which the observer sees every tensor but constants and
  // inputs, in order of execution; nothing is folded before. It starts from the state as it is and
  // leaves it so.
  Status run_all_tensors(std::span<const NamedValue> inputs, const TensorObserver& observer);
  Result<BenchmarkStats> benchmark(std::span<const NamedValue> inputs,
                                   const BenchmarkOptions& options);
  // Repeatable values of the right types (runtime/fill.h). Needs fixed or default shapes.
  Result<std::vector<NamedValue>> random_inputs(uint64_t seed) const;

  // Sets the model's state back to its initial values, as before the first run.
  Status reset();

  // Figures of the executor that ran last; empty before the first run.
  std::vector<OpTiming> timings() const;
  MemoryReport memory() const;
  int threads() const { return threads_; }

  // Frees everything; later runs fail with SessionClosed.
  void close() noexcept;

 private:
  Session() = default;
  // An open model with the shapes of its inputs fixed.
  struct Variant {
    std::vector<TensorType> types;
    std::unique_ptr<Graph> graph;
    std::unique_ptr<GraphRunner> runner;
  };

  void describe_interface(const Graph& graph);
  void set_options(const SessionOptions& options);
  Result<Variant*> variant(std::span<const TensorType> types);
  Result<Executor*> executor_for(std::span<const TensorType> types);
  Result<const Graph*> graph_for(std::span<const Value> values);
  bool is_open() const { return runner_ != nullptr || device_ != nullptr || open_.has_value(); }
  Result<std::vector<Value>> arrange(std::span<const NamedValue> inputs) const;
  Result<std::vector<Value>> run_arranged(std::span<const Value> values);
  Status check_sizes(std::span<const Value> values) const;
  Error shape_error(const TensorDescription& expected, const Value& given) const;

  ExecutorOptions executor_;
  std::shared_ptr<kernels::ThreadPool> pool_;
  std::unique_ptr<Graph> graph_;  // and its runner: null for open models and devices
  std::unique_ptr<GraphRunner> runner_;
  std::optional<OpenModel> open_;         // in place of graph and runner
  std::vector<Variant> variants_;         // of the open model; most recently used first
  std::unique_ptr<DeviceRunner> device_;  // in place of graph and runner
  std::shared_ptr<StateStore> state_;     // null: nothing is kept
  Executor* last_ = nullptr;
  std::vector<TensorDescription> inputs_, outputs_;
  int threads_ = 1;
  mutable std::mutex mutex_;
};

}  // namespace ec
