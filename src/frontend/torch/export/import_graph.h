// Nodes of an exported graph to operations: names to values, targets to operators of the table,
// nested graphs to bodies.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/torch/aten/call.h"
#include "frontend/torch/export/program.h"
#include "frontend/torch/functional/functionalizer.h"
#include "support/diagnostic.h"

namespace ec::torch::exported {

// What is common to a program's graphs.
class ProgramImport {
 public:
  ProgramImport(const std::string& file, DiagnosticSink& sink, bool positional_only)
      : file_(file), sink_(sink), positional_only_(positional_only) {}

  void report(Error error);
  // Counts an error that was reported elsewhere.
  void report_seen() { ++errors_; }
  DiagnosticSink& sink() { return sink_; }
  size_t errors() const { return errors_; }
  bool stopped() const { return errors_ >= kMaxErrors; }
  bool positional_only() const { return positional_only_; }
  // Reports all operators that the table lacks, each once; false when there are some.
  bool check_operators(const GraphDef& graph);

 private:
  static constexpr size_t kMaxErrors = 20;
  using Unknown = std::map<std::string, std::pair<const NodeDef*, size_t>>;  // by operator
  void count_unknown(const GraphDef& graph, Unknown& found);

  const std::string& file_;
  DiagnosticSink& sink_;
  bool positional_only_;
  size_t errors_ = 0;
};

// "torch.ops.aten.add.Tensor" to "aten::add.Tensor", "_operator.mul" to "aten::mul"; empty for
// targets of another kind (higher order).
std::string operator_name(std::string_view target);

// One graph while it is built.
class GraphImport {
 public:
  GraphImport(ProgramImport& program, ec::Graph& graph) : program_(program), graph_(graph) {}

  void bind(const std::string& name, TorchValue value) { values_[name] = std::move(value); }
  // All nodes in order; problems are reported and their results not bound.
  void run(const GraphDef& def);
  // The value of an argument now; empty when it depends on a node that failed.
  std::optional<TorchValue> value(const Argument& argument, const CallSite& site);
  // The value after all writes so far.
  Result<TorchValue> current(const CallSite& site, const TorchValue& value) {
    return functional_.current(site, value);
  }

 private:
  void run_node(const NodeDef& node);
  Result<std::vector<TorchValue>> call_node(const NodeDef& node, const CallSite& site,
                                            std::vector<TorchValue> inputs);
  Result<std::vector<TorchValue>> call_higher_order(const NodeDef& node, const CallSite& site);
  Result<std::vector<TorchValue>> call_cond(const NodeDef& node, const CallSite& site);
  Result<std::vector<TorchValue>> call_inlined(const NodeDef& node, const CallSite& site,
                                               size_t graph_input);
  Result<std::vector<TorchValue>> inline_graph(const GraphDef& def,
                                               std::vector<TorchValue> operands,
                                               const CallSite& site);
  // Closes over the operands that are no constants.
  struct Body {
    std::unique_ptr<ec::Graph> graph;
    Tensors captures;
  };
  Result<Body> build_body(const GraphDef& def, const std::vector<TorchValue>& operands);
  void bind_results(const NodeDef& node, const std::vector<TorchValue>& results, size_t first_new);
  void bind_result(const Argument& target, const TorchValue& result, size_t first_new);
  CallSite site_of(const NodeDef& node) const;

  ProgramImport& program_;
  ec::Graph& graph_;
  Functionalizer functional_;
  std::unordered_map<std::string, TorchValue> values_;
  std::set<std::string> failed_;
};

}  // namespace ec::torch::exported
