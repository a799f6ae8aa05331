// Runs a TorchScript program on inputs of known shape: numbers, containers and objects are values,
// tensors are values of the graph that is being built. Calls are inlined, loops unrolled, and
// conditions that are known choose their branch; a branch on a value that only a run will know
// becomes an `if` of the graph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/torch/archive.h"
#include "frontend/kept_operations.h"
#include "frontend/state_builder.h"
#include "frontend/torch/functional/functionalizer.h"
#include "frontend/torch/script/library.h"
#include "frontend/torch/script/objects.h"
#include "frontend/torch/script/source_map.h"
#include "frontend/torch/script/unpickler.h"
#include "support/diagnostic.h"

namespace ec::torch::script {

using Environment = std::map<std::string, TorchValue, std::less<>>;

// One call of a function.
struct Frame {
  const SourceFile* file = nullptr;
  const Function* function = nullptr;
  std::string path;  // of the module whose method this is
  Environment names;
  Frame* enclosing = nullptr;    // a nested function sees its names
  std::shared_ptr<Frame*> self;  // while the call runs
  TorchValue result;
};

class Interpreter {
 public:
  // `kept`: operators that cannot be converted stay as custom operations; null: they are errors.
  Interpreter(const Archive& archive, ec::Graph& graph, DiagnosticSink& sink,
              KeptOperations* kept = nullptr);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter();

  // Reads data.pkl and constants.pkl.
  Status load();
  // The root module; requires load().
  const std::shared_ptr<Instance>& root() const { return root_; }

  Result<TorchValue> call_method(const std::shared_ptr<Instance>& object, const std::string& name,
                                 std::vector<TorchValue> args, NamedValues kwargs = {});
  Result<TorchValue> attribute(const std::shared_ptr<Instance>& object, const std::string& name);

  Functionalizer& functional() { return functional_; }
  CallSite site(const std::string& path, const std::string& op_type) const;
  // Attributes that the program stored into or wrote to, by their path from the root module.
  std::vector<std::string> changed_state() const;
  // Makes these attributes state that outlives a run: before the program runs their values are
  // those of the run before, and keep_state() tells the builder what they are at the end. Fails for
  // attributes that are no tensors or numbers.
  Status declare_state(const std::vector<std::string>& paths, StateBuilder& states);
  Status keep_state(const std::vector<std::string>& paths, StateBuilder& states);

  // A new object without attributes.
  std::shared_ptr<Instance> new_instance(std::string class_name, const Definition& definition);

  // For the built-in functions: whether a container may change (not in a branch that may not run).
  Status may_change(const void* container) const;
  void created(const void* container);
  // Counts the work of looking at that many items, and the memory of items that are made; errors
  // when a program asks for more than kMaxSteps and max_made_items() allow.
  Status spend(size_t items);
  Status made(size_t items);
  // check_nesting() with its own work counted.
  Status check_nested(const TorchValue& value, const void* container = nullptr);

 private:
  friend class BranchScope;
  enum class Flow : uint8_t { Next, Return };

  // interpreter.cpp: calls and statements.
  Result<TorchValue> invoke(const Function& function, Frame frame, std::vector<TorchValue> args,
                            NamedValues kwargs);
  Status bind(const Function& function, Frame& frame, std::vector<TorchValue> args,
              NamedValues kwargs);
  Result<Flow> run(const std::vector<Statement>& body, Frame& frame);
  Result<Flow> run(const Statement& statement, Frame& frame);
  Status assign(const Statement& statement, Frame& frame);
  Status assign_field(const Statement& statement, Frame& frame);
  Result<Flow> run_for(const Statement& statement, Frame& frame);
  Result<Flow> run_while(const Statement& statement, Frame& frame);
  Result<Flow> run_if(const Statement& statement, Frame& frame);
  Status enter_context(const Statement& statement, Frame& frame);

  // branch.cpp: an `if` whose condition a run decides.
  Result<Flow> run_both(const Statement& statement, const SymScalar& condition, Frame& frame);

  // evaluate.cpp: expressions.
  Result<TorchValue> evaluate(const Expr& expr, Frame& frame);
  Result<TorchValue> evaluate_name(const Expr& expr, Frame& frame);
  Result<TorchValue> evaluate_attribute(const Expr& expr, Frame& frame);
  Result<TorchValue> evaluate_subscript(const Expr& expr, Frame& frame);
  Result<TorchValue> evaluate_dict(const Expr& expr, Frame& frame);
  Result<TorchValue> global(const std::string& name);
  Result<TorchValue> constant(const std::string& name);
  Result<TorchValue> member(const TorchValue& object, const std::string& name);

  // state.cpp
  struct AttributeRef {
    std::shared_ptr<Instance> object;
    std::string name;
  };
  Result<AttributeRef> find_attribute(const std::string& path);

  // calls.cpp: what stands before brackets.
  Result<TorchValue> evaluate_call(const Expr& expr, Frame& frame);
  Result<TorchValue> call_special(const Expr& expr, Frame& frame, bool& handled);
  // `wanted`: how many results the statement takes apart; 0: it does not say.
  Result<TorchValue> call_operator(const std::string& name, const Expr& expr, size_t wanted,
                                   Frame& frame);
  Status count_arguments(const std::string& name, std::span<const TorchValue> args);
  Status count_result(const TorchValue& result, std::span<const TorchValue> args);
  Result<TorchValue> keep_call(const CallSite& where, std::span<const TorchValue> args,
                               size_t wanted, Error error);
  Result<TorchValue> call_value(const TorchValue& callee, std::vector<TorchValue> args,
                                NamedValues kwargs, Frame& frame);
  Result<TorchValue> construct(const ClassValue& type, std::vector<TorchValue> args,
                               NamedValues kwargs);
  Result<TorchValue> call_packed(const TorchValue& object, const std::string& name);
  Result<TorchValue> to_number(const TorchValue& value, SymScalar::Kind kind, Frame& frame);
  Status arguments(const Expr& expr, Frame& frame, std::vector<TorchValue>& args,
                   NamedValues& kwargs);

  // Messages.
  Error data_dependent(const std::string& what, const Frame& frame, uint32_t offset);
  Error with_source(Error error, const Frame& frame, uint32_t offset);

  const Archive& archive_;
  ec::Graph& graph_;
  DiagnosticSink& sink_;
  Library library_;
  SourceMap source_map_;
  Functionalizer functional_;
  std::unique_ptr<Pickle> data_pickle_, constants_pickle_;
  std::unique_ptr<Unpickler> data_, constants_;
  std::shared_ptr<Instance> root_;
  // All objects; they may refer to each other in circles, so the end is made here.
  std::vector<std::shared_ptr<Instance>> instances_;
  std::vector<std::string> changed_state_;
  KeptOperations* kept_;
  size_t wanted_results_ = 0;  // of the call that is evaluated next
  int nesting_ = 0, calls_ = 0;
  int64_t steps_ = 0;
  size_t made_items_ = 0;
  mutable MadeConstants made_constants_;  // counted by the calls that site() is for
  bool raised_ = false;                   // the last error was raised by the program itself
  // While branches are run that may not be taken: containers made inside them, innermost last.
  std::vector<std::vector<const void*>> branch_containers_;
};

}  // namespace ec::torch::script
