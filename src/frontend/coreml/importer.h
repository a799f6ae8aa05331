// The state of one import, and the steps that converters of control flow call back.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/coreml/model.h"
#include "frontend/coreml/scope.h"
#include "frontend/frontend.h"
#include "frontend/state_builder.h"
#include "ir/graph.h"

namespace ec::mil {

struct OpRow;
class OpCall;

class Importer {
 public:
  Importer(const coreml::Model& model, std::string file, size_t bytes, const ImportOptions& options,
           DiagnosticSink& sink);
  // The graph of a function with its interface.
  Result<std::unique_ptr<ec::Graph>> run(const std::string& name, const coreml::Function& function,
                                         const coreml::Interface& interface);

  // --- values
  // A value of the file in the graph of the site.
  Result<ec::Tensor*> constant(Site& site, const coreml::Value& value, const std::string& name);
  // The operations of a block; false when problems were reported.
  bool import_block(const coreml::Block& block, Scope& scope);
  // Whether so many bytes of constants may be made; counts them.
  bool may_expand(size_t bytes);
  StateBuilder& states() { return *states_; }
  bool has_state(const std::string& key) const { return states_->contains(key); }
  // Names of classes that a classifier tells.
  void set_classes(const coreml::Value& classes);

  void report(Error error);
  size_t errors() const { return errors_; }
  bool stopped() const { return stopped_; }

 private:
  struct MissingOp {
    std::string type;
    Error error;
    size_t count = 1;
  };

  // interface.cpp
  void add_inputs(Scope& scope, const coreml::Function& function,
                  const coreml::Interface& interface);
  void add_states(Scope& scope, const coreml::Function& function);
  void add_outputs(Scope& scope, const coreml::Block& block);
  void set_metadata(ec::Graph& graph, const coreml::Interface& interface) const;

  // import_block.cpp
  void import_operation(const coreml::Operation& op, Scope& scope);
  void convert(const OpRow& row, OpCall& call, Scope& scope);
  Status check_parameters(const OpRow& row, const coreml::Operation& op) const;
  Result<bool> resolve_operands(const coreml::Operation& op, const Scope& scope) const;
  void bind(Scope& scope, const coreml::Operation& op, size_t i, MilValue value,
            const Location& location);
  Status check_declared(const coreml::NamedType& declared, const ec::Tensor* made) const;
  void missing_op(const coreml::Operation& op, Scope& scope, const Location& location);
  bool count_operation(const Location& location);
  void define(Scope& scope, const std::string& name, MilValue value, const Location& location);

  // keep_operation.cpp: an operation that cannot be converted is kept as a custom operation where
  // that is asked for; else the problem is reported and its results fail.
  void give_up(const coreml::Operation& op, Scope& scope, const Location& location, Error error);
  void skip(const coreml::Operation& op, Scope& scope, const Location& location);
  void add_kept(const coreml::Operation& op, Scope& scope, const Location& location,
                std::vector<ec::Tensor*> inputs, Diagnostic problem, bool unjudged);
  std::vector<ec::Tensor*> known_operands(const coreml::Operation& op, Scope& scope);
  void fail_outputs(const coreml::Operation& op, Scope& scope);

  void report_missing();
  Error explained(Error error) const;

  const coreml::Model& model_;
  const std::string file_;
  const size_t bytes_;
  const ImportOptions& options_;
  DiagnosticSink& sink_;
  std::optional<StateBuilder> states_;
  std::vector<MissingOp> missing_;
  std::string classes_;
  size_t errors_ = 0, operations_ = 0, expanded_bytes_ = 0;
  bool stopped_ = false;
};

// The name of an operation: its attribute "name", or that of its first result.
Location location_of(const coreml::Operation& op);

}  // namespace ec::mil
