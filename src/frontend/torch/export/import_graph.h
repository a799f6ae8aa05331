// Nodes of an exported graph to operations: names to values, targets to operators of the table,
// nested graphs to bodies.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/kept_operations.h"
#include "frontend/torch/aten/call.h"
#include "frontend/torch/export/program.h"
#include "frontend/torch/functional/functionalizer.h"
#include "support/diagnostic.h"

namespace ec::torch::exported {

// What is common to a program's graphs.
class ProgramImport {
 public:
  // `kept`: nodes that cannot be converted stay as custom operations; null: they are errors.
  ProgramImport(const std::string& file, DiagnosticSink& sink, bool positional_only,
                KeptOperations* kept, size_t file_size)
      : file_(file),
        sink_(sink),
        positional_only_(positional_only),
        kept_(kept),
        max_nodes_(40'000 + file_size / 16) {
    made_.most += 2 * file_size;
  }

  void report(Error error);
  // With the file and the usual way out.
  Error explained(Error error) const;
  KeptOperations* kept() const { return kept_; }
  // Counts an error that was reported elsewhere.
  void report_seen() { ++errors_; }
  DiagnosticSink& sink() { return sink_; }
  size_t errors() const { return errors_; }
  bool stopped() const { return errors_ >= kMaxErrors; }
  bool positional_only() const { return positional_only_; }
  // Nodes that run, those of loops that are written out each time; an error when they are too many.
  Status count_node();
  MadeConstants& made() { return made_; }
  // Reports all operators that the table lacks, each once; false when there are some.
  bool check_operators(const GraphDef& graph);

 private:
  static constexpr size_t kMaxErrors = 20;
  using Unknown = std::map<std::string, std::pair<const NodeDef*, size_t>>;  // by operator
  void count_unknown(const GraphDef& graph, Unknown& found);

  const std::string& file_;
  DiagnosticSink& sink_;
  bool positional_only_;
  KeptOperations* kept_;
  // A node takes some hundred bytes of a file.
  const size_t max_nodes_;
  size_t errors_ = 0, nodes_ = 0;
  MadeConstants made_;
};

// "torch.ops.aten.add.Tensor" to "aten::add.Tensor", "_operator.mul" to "aten::mul"; empty for
// targets of another kind (higher order).
std::string operator_name(std::string_view target);
// "cond" of "torch.ops.higher_order.cond"; empty for other targets.
std::string_view higher_order(std::string_view target);

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
  // A node that cannot be converted, as a custom operation with the types that the file has for its
  // results; false: nothing is kept.
  bool keep_node(const NodeDef& node, const CallSite& site, const Error& error);
  void add_operands(const Argument& argument, Tensors& operands) const;
  void add_result_types(const Argument& output, std::vector<TensorType>& types) const;
  TorchValue kept_result(const Argument& output, const Operation& op, size_t& next) const;
  Result<std::vector<TorchValue>> call_node(const NodeDef& node, const CallSite& site,
                                            std::vector<TorchValue> inputs);
  Result<std::vector<TorchValue>> call_higher_order(const NodeDef& node, const CallSite& site);
  Result<std::vector<TorchValue>> call_cond(const NodeDef& node, const CallSite& site);
  Result<std::vector<TorchValue>> call_while(const NodeDef& node, const CallSite& site);
  Result<std::vector<TorchValue>> call_scan(const NodeDef& node, const CallSite& site);
  Result<std::vector<TorchValue>> call_inlined(const NodeDef& node, const CallSite& site,
                                               size_t graph_input);
  Result<std::vector<TorchValue>> inline_graph(const GraphDef& def,
                                               std::vector<TorchValue> operands,
                                               const CallSite& site);
  // A graph that closes over operands which are no constants.
  struct Body {
    std::unique_ptr<ec::Graph> graph = std::make_unique<ec::Graph>("body");
    Tensors captures;
    // The operand as the body sees it: a constant again, or an input that captures it.
    TorchValue take(const std::string& name, const TorchValue& operand);
    // An input that changes from iteration to iteration.
    TorchValue vary(const std::string& name, const TensorType& type);
  };
  // Makes the values the results of the graph.
  Status give(const std::vector<TorchValue>& results, const CallSite& site);
  Result<Body> build_branch(const GraphDef& def, const std::vector<TorchValue>& operands);
  Result<Body> build_loop_body(const GraphDef& condition, const GraphDef& step,
                               const std::vector<TensorRef>& carried,
                               const std::vector<TorchValue>& captured);
  Result<std::vector<TorchValue>> loop(const GraphDef& condition, const GraphDef& step,
                                       std::vector<TorchValue> carried,
                                       const std::vector<TorchValue>& captured,
                                       const CallSite& site);
  // A nested graph, and a list of values, that a node has as its arguments.
  Result<std::shared_ptr<const GraphDef>> graph_argument(const NodeDef& node, size_t index) const;
  Result<std::vector<TorchValue>> list_argument(const NodeDef& node, size_t index,
                                                const CallSite& site);
  void bind_results(const NodeDef& node, const std::vector<TorchValue>& results, size_t first_new);
  void bind_result(const Argument& target, const TorchValue& result, size_t first_new);
  CallSite site_of(const NodeDef& node) const;

  ProgramImport& program_;
  ec::Graph& graph_;
  Functionalizer functional_;
  std::unordered_map<std::string, TorchValue> values_;
  std::set<std::string> failed_;
  const GraphDef* def_ = nullptr;  // that is run
};

// What the file says of a tensor.
Result<TensorType> declared_type(const TensorMeta& meta);

}  // namespace ec::torch::exported
