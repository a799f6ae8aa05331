// Runs pipelines: times passes, verifies after each, prints and dumps on request, reports.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "passes/pass_registry.h"
#include "passes/pipeline.h"

namespace ec {

struct PassManagerOptions {
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
  std::vector<std::string> disabled;            // passes to leave out
  std::vector<std::string> print_after;         // passes, or "all"
  std::function<void(std::string_view)> print;  // where printed graphs go; unset: standard error
  std::filesystem::path dump_directory;         // not empty: 000-input.ecir, 001-<pass>.ecir, ...
  std::string stop_after;                       // not empty: nothing runs after this pass
};

// One pass of the pipeline; a pass in a group is listed once with the sum of its runs.
struct PassRun {
  std::string name;
  PassStats stats;
  int runs = 0;
  double milliseconds = 0;
};

struct PipelineReport {
  std::vector<PassRun> passes;  // in pipeline order
  double milliseconds = 0;
  size_t operations_before = 0, operations_after = 0;  // nested graphs included
  bool stopped = false;                                // PassManagerOptions::stop_after was met

  int64_t changes() const;
  const PassRun* find(std::string_view name) const;
  // Adds what a later pipeline did to the same graph.
  void append(PipelineReport later);
};

class PassManager {
 public:
  explicit PassManager(PassManagerOptions options = {},
                       const PassRegistry& registry = PassRegistry::built_in())
      : options_(std::move(options)), registry_(registry) {}

  // How often a group may run through its passes before a warning tells that it did not converge.
  static constexpr int kMaxIterations = 16;

  Result<PipelineReport> run(Graph& graph, std::string_view pipeline, PassContext& context) const;
  Result<PipelineReport> run(Graph& graph, std::span<const PipelineItem> items,
                             PassContext& context) const;

 private:
  PassManagerOptions options_;
  const PassRegistry& registry_;
};

// Operations of the graph and of all nested graphs.
size_t count_operations(const Graph& graph);

}  // namespace ec
