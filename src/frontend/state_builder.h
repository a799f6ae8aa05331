// State that a model keeps from run to run, collected while it is imported (ADR 15). A front end
// asks for the value of a state where the model reads it and tells every value that the model
// assigns; finish() then adds one write_state for each state that a run changes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace ec {

class StateBuilder {
 public:
  explicit StateBuilder(Graph& graph) : graph_(graph) {}

  // Whether the state was declared.
  bool contains(const std::string& key) const { return index_.contains(key); }
  // Declares a state that starts from `initial`, which belongs to the graph. `name` is what the
  // source calls it; it is made unique. Returns the value at the start of a run.
  Result<Tensor*> declare(const std::string& key, const std::string& name, Tensor* initial,
                          const Location& location);
  // The value at this point of the run: what was assigned last. Requires contains().
  Tensor* value(const std::string& key) const { return states_[index_.at(key)].value; }
  // Requires contains().
  void assign(const std::string& key, Tensor* value) {
    states_[index_.at(key)].value = value;
    ++changes_;
  }
  // Counts declarations and assignments: tells whether a conversion touched any state.
  size_t changes() const { return changes_; }

  // Adds the writes. States that nothing assigned become their initial values. Fails when a state
  // would change its type. Returns the names of the states that remain.
  Result<std::vector<std::string>> finish();

 private:
  Status infer_again();

  struct State {
    std::string name;
    Operation* read;
    Tensor* value;
  };

  Graph& graph_;
  std::vector<State> states_;
  std::map<std::string, size_t> index_;
  std::set<std::string> names_;
  std::map<std::string, size_t> last_number_;  // behind a name that was taken
  size_t changes_ = 0;
};

}  // namespace ec
