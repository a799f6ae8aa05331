// The state of one import, and the steps that converters of calls and control flow call back.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensorflow/tensor_data.h"
#include "frontend/frontend.h"
#include "frontend/op_builder.h"
#include "frontend/state_builder.h"
#include "frontend/tensorflow/function_library.h"
#include "frontend/tensorflow/value.h"
#include "frontend/turned_weights.h"
#include "ir/graph.h"

namespace ec::tf {

struct OpRow;
class OpContext;

// Where the values of variables come from.
class VariableSource {
 public:
  struct Stored {
    TensorType type;
    Blob data;
  };
  VariableSource() = default;
  virtual ~VariableSource() = default;
  VariableSource(const VariableSource&) = delete;
  VariableSource& operator=(const VariableSource&) = delete;
  // The value of a variable that a node of the main graph stands for.
  virtual Result<Stored> read(std::string_view node, std::string_view shared_name) = 0;
};

// What the model's graph is fed and what is asked of it: "node:0".
struct Interface {
  struct Input {
    std::string name;  // of the input
    uint32_t node = 0;
    TensorType type;
    bool complex = false;
  };
  struct Output {
    std::string name;
    Source source;
  };
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

// A graph that is being built: the model's own, or a body of a loop or branch.
struct Site {
  Site(ec::Graph& g, bool main, size_t& room, WeightMemory& memory)
      : graph(g), is_main(main), weights(room, memory) {}
  ec::Graph& graph;
  const bool is_main;
  TurnedWeights weights;
  std::map<uint32_t, ec::Tensor*> variables;  // values that were read, by variable
};

// One call of a function while it is imported.
struct Frame {
  Frame(const FunctionBody& b, Site& s, std::vector<TfValue> a, std::string p, size_t d)
      : body(b),
        site(s),
        arguments(std::move(a)),
        prefix(std::move(p)),
        depth(d),
        values(b.function.list.nodes.size()),
        state(values.size(), 0) {}
  const FunctionBody& body;
  Site& site;
  const std::vector<TfValue> arguments;
  const std::string prefix;  // of the names of nodes: "block1/"
  const size_t depth;
  const Node* call = nullptr;                // whose attributes fill in placeholders
  std::vector<std::vector<TfValue>> values;  // by node
  std::vector<uint8_t> state;                // 0 new, 1 being visited, 2 done
  // What control edges lead to: nodes with effects, others, and those of them that were looked
  // through. Made when it is asked for.
  enum class Order : uint8_t { New, Seen, Effect };
  std::vector<Order> order;
  std::vector<size_t> outputs_read;  // by node, how many; made when it is asked for
};

class Importer {
 public:
  // `file` holds what the library's messages point into; `model_bytes` bounds what it may become.
  Importer(FileBytes file, size_t model_bytes, std::string path, FunctionLibrary& library,
           VariableSource* variables, DiagnosticSink& sink, KeptOperations* keeping = nullptr);

  // The graph with the interface's inputs and outputs. Variables in `states` keep what a run
  // assigns.
  std::unique_ptr<ec::Graph> run(const std::string& name, const Interface& interface,
                                 const std::set<std::string>& states);
  // Variables that were assigned.
  const std::set<std::string>& assigned() const { return assigned_; }
  size_t errors() const { return errors_; }

  FunctionLibrary& library() { return library_; }
  TensorReader& tensors() { return tensors_; }

  // --- calls
  // The results of a function in the site's graph; empty when its problems were reported.
  std::optional<std::vector<TfValue>> call(const FunctionBody& body, Site& site,
                                           std::vector<TfValue> arguments, std::string prefix,
                                           size_t depth, const Node* caller);
  size_t& turned_room() { return turned_room_; }
  WeightMemory& weight_memory() { return weight_memory_; }

  // --- variables
  uint32_t variable(std::string_view node, std::string_view shared_name);
  const std::string& variable_name(uint32_t id) const { return variables_[id].name; }
  Result<ec::Tensor*> read_variable(Site& site, uint32_t id, const Location& location);
  Status assign_variable(Site& site, uint32_t id, ec::Tensor* value, const Location& location);
  // --- lists
  TensorList& list(uint32_t id) { return lists_[id]; }
  uint32_t add_list(TensorList list);

  void report(Error error);
  void warn(Diagnostic diagnostic);
  // Whether `what` was not said before.
  bool first_time(const std::string& what) { return said_.insert(what).second; }
  // Notes an operator that is not known; all are reported together.
  void missing_op(std::string_view op, const std::string& node);

 private:
  struct Variable {
    std::string name, shared_name;
    std::optional<VariableSource::Stored> stored;
  };
  struct MissingOp {
    std::string name;
    std::vector<std::string> nodes;
    size_t count = 0;
  };

  // evaluate.cpp
  // A node to convert, or one that only tells what has to come before.
  struct Step {
    uint32_t node = 0;
    bool only_before = false;
  };
  void evaluate(Frame& frame, std::vector<Step> roots);
  void push_sources(Frame& frame, uint32_t node, std::vector<Step>& stack);
  void prepare_order(Frame& frame);
  void push_ordered(Frame& frame, uint32_t node, std::vector<Step>& stack);
  void convert(Frame& frame, uint32_t index);
  TfValue value(const Frame& frame, const Source& source) const;
  bool has_effects(const FunctionBody& body, size_t depth);
  bool node_has_effects(const Node& node, size_t depth);
  bool count_operations(size_t count, const std::string& node);

  // keep_node.cpp
  // What a conversion may change before it fails.
  struct BeforeNode {
    size_t operations = 0, state_changes = 0;
  };
  BeforeNode before_node(const Site& site) const {
    return {site.graph.operation_id_bound(), states_->changes()};
  }
  // A node that cannot be converted stays as a custom operation where that is asked for.
  bool keep_node(Frame& frame, uint32_t index, const Location& location, const Error& error,
                 const BeforeNode& before);
  std::vector<TensorType> kept_types(Frame& frame, uint32_t index,
                                     const std::vector<ec::Tensor*>& operands);
  size_t outputs_read(Frame& frame, uint32_t index) const;

  // importer.cpp
  static Error unknown_operator(std::string_view op);
  Error explained(Error error) const;
  void add_inputs(Frame& frame, const Interface& interface);
  void add_outputs(Frame& frame, const Interface& interface);
  void report_missing();

  const std::string path_;
  FunctionLibrary& library_;
  VariableSource* variable_source_;
  DiagnosticSink& sink_;
  KeptOperations* const keeping_;  // null: what cannot be converted is an error
  TensorReader tensors_;
  size_t turned_room_;
  WeightMemory weight_memory_;
  const size_t max_operations_;
  std::vector<Variable> variables_;
  std::map<std::string, uint32_t, std::less<>> variable_ids_;
  std::vector<TensorList> lists_;
  std::optional<StateBuilder> states_;
  std::set<std::string> kept_, assigned_;
  std::vector<MissingOp> missing_;
  std::map<const FunctionBody*, bool> effects_;  // looked up only
  std::set<std::string> said_;
  size_t errors_ = 0, operations_ = 0;
  bool stopped_ = false;
};

// The name of a node inside a call, and of what the node calls.
std::string node_name(const Frame& frame, const Node& node);
std::string call_prefix(const Frame& frame, const Node& node);

}  // namespace ec::tf
