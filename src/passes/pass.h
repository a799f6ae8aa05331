// A pass: one rewrite of a graph. Passes know nothing of each other; pipelines.cpp orders them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

// What one run of a pass did.
struct PassStats {
  int64_t changes = 0;  // rewrites made; 0: the graph is as before
  int64_t visits = 0;   // operations looked at; scaling tests measure them
  std::vector<std::pair<std::string, int64_t>> counters;  // what the changes were, in fixed order
  std::vector<std::string> notes;                         // sentences for a verbose report

  void count(std::string_view what, int64_t n = 1);
  void add(const PassStats& other);
};

// Limits of constant folding: a graph must not grow because something could be computed.
struct FoldLimits {
  // A folded result may be as large as the constants it is computed from, or this large.
  size_t max_result_bytes = size_t{8} << 20;
  // How much all results together may add beyond the constants they replace.
  size_t max_growth_bytes = size_t{16} << 20;
};

// What passes share during one pipeline.
struct PassContext {
  DiagnosticSink* sink = nullptr;  // warnings; may be null
  FoldLimits fold;
  bool integer_weights = false;  // weights will be rounded to integers
  int depth = 0;                 // of the graph that a pass runs on: 0 is the model's own
  size_t fold_growth_bytes = 0;  // used up so far

  void warn(Code code, std::string message) const;
};

class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const = 0;
  // Rewrites one graph. Bodies of control flow are graphs of their own: the manager runs the pass
  // on them first.
  virtual Result<PassStats> run(Graph& graph, PassContext& context) const = 0;
};

// --- registration -------------------------------------------------------------------------------

struct PassOption {
  std::string key, value;
  bool operator==(const PassOption&) const = default;
};

struct PassOptionInfo {
  std::string_view key;
  std::string_view default_value;
  std::string_view choices;  // "a|b"; empty: any text
  std::string_view summary;
};

struct PassInfo {
  std::string_view name;
  std::string_view summary;  // one sentence, for lists
  std::string_view details;  // what it does and when it does not, for docs/passes.md
  std::unique_ptr<Pass> (*make)(std::span<const PassOption> options);  // options are checked
  std::span<const PassOptionInfo> options = {};
};

// The option's value, or its default.
std::string_view option_value(std::span<const PassOption> options, const PassOptionInfo& info);

// Runs the pass on the graph and before that on all nested graphs, innermost first.
Result<PassStats> run_on_all_graphs(const Pass& pass, Graph& graph, PassContext& context);

}  // namespace ec
