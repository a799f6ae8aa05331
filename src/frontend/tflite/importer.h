// The state of one import, and the steps that converters of control flow call back.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/tflite/model_file.h"
#include "frontend/frontend.h"
#include "frontend/state_builder.h"
#include "frontend/tflite/scope.h"
#include "ir/graph.h"

namespace ec::tflite {

struct OpRow;
class OpContext;

class Importer {
 public:
  Importer(const Blob& file, const std::filesystem::path& path, const ImportOptions& options,
           DiagnosticSink& sink);
  Result<std::unique_ptr<ec::Graph>> run();

  const ModelFile& file() const { return *file_; }

  // The tensor's value in the scope: made from the file when it is a constant. Null: absent, or
  // something that is no tensor (a string, a variable's handle); the reason was reported unless it
  // is a handle.
  ec::Tensor* value(Scope& scope, int32_t index, const Location& reader);

  // Whether anything gives the tensor a value.
  bool is_defined(const Scope& scope, int32_t index) const;

  // A subgraph as a nested graph with inputs of these types; null when its problems were reported.
  std::unique_ptr<ec::Graph> import_body(uint32_t subgraph,
                                         const std::vector<ec::TensorType>& types);
  // A subgraph built into `scope`'s graph; empty when its problems were reported.
  std::optional<std::vector<ec::Tensor*>> inline_subgraph(uint32_t subgraph, ec::Graph& graph,
                                                          bool is_main,
                                                          const std::vector<ec::Tensor*>& inputs);

  // --- state that outlives a run
  // ------------------------------------------------------------------ The value of a variable of
  // VAR_HANDLE at this point; null: nothing was assigned yet.
  Result<ec::Tensor*> read_variable(const std::string& key, const Location& location);
  void assign_variable(const std::string& key, ec::Tensor* value);
  // What is assigned while this is set are the values before the first run (CALL_ONCE).
  void set_initialising(bool on) { initialising_ = on; }
  // Whether the tensor is a variable whose value outlives a run: read before, in the model's own
  // graph. Nested subgraphs of IF and WHILE have none.
  bool is_state(const Scope& scope, int32_t index) const;
  // A tensor with is_state() gets a new value; it is seen by later operators and runs.
  void assign_variable_tensor(Scope& scope, int32_t index, ec::Tensor* value);
  // State that an operator keeps inside itself, without a tensor in the file: its value at the
  // start of the run, and the value that the next run starts from. `key` tells the operator's
  // states apart. Both need Scope::is_main.
  Result<ec::Tensor*> own_state(Scope& scope, const std::string& key, const ec::TensorType& type,
                                Blob initial, const Location& location);
  void assign_own_state(const std::string& key, ec::Tensor* value) { states_->assign(key, value); }
  // Says once that `what` does not outlive a run.
  void warn_of_state(const std::string& what, const Location& location);

  // Whether so many bytes may be copied; counts them.
  bool may_copy(size_t bytes);
  void report(Error error);
  // With the file and the usual way out.
  Error explained(Error error) const;
  size_t errors() const { return errors_; }

 private:
  struct MissingOp {
    std::string name;
    Error error;
    size_t nodes = 1;
  };

  // importer.cpp
  void set_metadata(ec::Graph& graph) const;
  void report_missing();

  // import_subgraph.cpp
  std::unique_ptr<ec::Graph> import_main();
  void add_inputs(Scope& scope);
  void add_outputs(Scope& scope);
  void import_operators(Scope& scope);
  void import_operator(Scope& scope, const Operator& op, uint32_t number);
  void convert(const OpRow& row, OpContext& context);
  void missing_op(Scope& scope, const Operator& op, const Location& location);
  void poison_outputs(Scope& scope, const Operator& op);
  void bind(Scope& scope, int32_t index, ec::Tensor* tensor, const Location& location);
  // keep_operator.cpp: an operator that cannot be converted is kept as a custom operation where
  // that is asked for; else the problem is reported and the outputs are poisoned.
  void give_up(Scope& scope, const Operator& op, const Location& location, Error error);
  // An operator whose inputs were given up with a report of their own.
  void skip(Scope& scope, const Operator& op, const Location& location);
  void erase_conversion(Scope& scope, size_t first_operation, size_t first_tensor);
  void add_kept(Scope& scope, const Operator& op, const Location& location,
                std::vector<ec::Tensor*> inputs, Diagnostic problem, bool unjudged);
  std::vector<ec::Tensor*> known_operands(Scope& scope, const Operator& op,
                                          const Location& location);
  bool count_operation(const Location& location);
  Location location_of(const Scope& scope, const Operator& op, uint32_t number) const;
  const SignatureDef* main_signature() const;

  // import_constant.cpp
  Result<ec::Tensor*> add_constant(Scope& scope, const Tensor& tensor, std::string name);
  Result<ec::Tensor*> add_initial_state(Scope& scope, const Tensor& tensor, std::string name);
  Result<ec::Tensor*> add_variable_tensor(Scope& scope, int32_t index, const Location& reader);
  Result<Blob> constant_bytes(const Tensor& tensor, const Blob& data, DType dtype);

  const Blob blob_;
  const std::filesystem::path path_;
  const ImportOptions& options_;
  DiagnosticSink& sink_;
  std::optional<ModelFile> file_;
  std::map<std::string, ec::Tensor*> variables_;  // initial values, and those that are not kept
  std::set<std::string> initial_variables_;       // those whose value CALL_ONCE assigned
  std::optional<StateBuilder> states_;
  bool initialising_ = false;
  std::vector<MissingOp> missing_ops_;
  std::set<std::string> warned_once_;
  size_t errors_ = 0;
  size_t operations_ = 0;
  size_t copied_bytes_ = 0;
  bool stopped_ = false;
};

// The tensor's name in the graph, cut to a sensible length.
std::string source_name(const Tensor& tensor);

}  // namespace ec::tflite
