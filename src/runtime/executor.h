// Runs a graph with the shapes of its inputs fixed.
//
// Building infers every shape from the given input types, evaluates what depends on constants only,
// prepares a kernel per operation and lays all intermediate tensors out in one arena; a run then
// allocates nothing but the results. Tensors whose shape depends on data are the exception: they
// are allocated as they come, and operations on them are inferred and prepared again when shapes
// change.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"
#include "runtime/kernels/isa.h"
#include "runtime/kernels/thread_pool.h"
#include "runtime/state_store.h"
#include "support/result.h"

namespace ec {

// Sees every tensor an operation produced, as soon as it is complete. Called on the running thread.
using TensorObserver = std::function<void(const Tensor& tensor, const ConstView& value)>;
// May change a tensor before anything reads it; called before the observer. Results of
// data-dependent shape are not offered. With an editor, floats are not folded at preparation.
using TensorEditor = std::function<void(const Tensor& tensor, const MutableView& value)>;

struct ExecutorOptions {
  bool reference = false;  // only reference kernels
  kernels::Isa isa = kernels::best_isa();
  bool profile = false;     // collect OpTiming
  bool plan_only = false;   // memory is planned and not reserved: such an executor cannot run
  TensorObserver observer;  // empty: none. Tensors folded at preparation are not seen.
  TensorEditor editor;      // empty: none
  // Where read_state and write_state find the state of earlier runs. Null: every run starts from
  // the initial values.
  std::shared_ptr<StateStore> state;
};

struct OpTiming {
  const Operation* op = nullptr;
  bool fast = false;
  double seconds = 0.0;  // summed over runs
  int64_t runs = 0;
};

struct MemoryReport {
  size_t arena_bytes = 0;
  size_t lower_bound = 0;
  size_t constant_bytes = 0;  // packed copies and folded values, beyond the graph's own constants
};

struct Program;

class Executor {
 public:
  // `graph` and `pool` must outlive the executor. `types` are static, one per graph input.
  static Result<std::unique_ptr<Executor>> create(const Graph& graph,
                                                  std::span<const TensorType> types,
                                                  const ExecutorOptions& options,
                                                  std::shared_ptr<kernels::ThreadPool> pool);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Inputs have the types given at creation; their data is aligned for their element type.
  Result<std::vector<Value>> run(std::span<const ConstView> inputs);

  std::vector<OpTiming> timings() const;
  MemoryReport memory() const;

 private:
  explicit Executor(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

// An error where one run of the graph takes far more work than the thread's budget has left:
// packing the weights of a large network, only to stop at its first layer, takes time and memory. A
// rough count from below: work that no run can do without, a quarter of it.
Status check_run_work(const Graph& graph);

// Runs a graph with any input shapes: keeps an executor per distinct set of input types.
class GraphRunner {
 public:
  GraphRunner(const Graph& graph, ExecutorOptions options,
              std::shared_ptr<kernels::ThreadPool> pool);
  ~GraphRunner();

  // The executor for these input types, made on first use. The least recently used one is dropped
  // when there are more than kMaxSpecialisations.
  Result<Executor*> specialise(std::span<const TensorType> types);
  Result<std::vector<Value>> run(std::span<const ConstView> inputs);

  static constexpr size_t kMaxSpecialisations = 8;

 private:
  struct Entry {
    std::vector<TensorType> types;
    std::unique_ptr<Executor> executor;
  };
  const Graph& graph_;
  ExecutorOptions options_;
  std::shared_ptr<kernels::ThreadPool> pool_;
  std::vector<Entry> entries_;  // most recently used first
};

}  // namespace ec
