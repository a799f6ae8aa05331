// State: variable tensors, variables with handles, and what operators keep inside themselves. All
// become read_state and write_state (ADR 15).
#include "frontend/tflite/importer.h"

namespace ec::tflite {
namespace {

// A subgraph that is called twice has its variables once.
std::string tensor_key(const Scope& scope, int32_t index) {
  return "tensor " + std::to_string(reinterpret_cast<uintptr_t>(&scope.source)) + " " +
         std::to_string(index);
}
std::string variable_key(const std::string& key) { return "variable " + key; }

}  // namespace

Result<ec::Tensor*> Importer::add_variable_tensor(Scope& scope, int32_t index,
                                                  const Location& reader) {
  const std::string key = tensor_key(scope, index);
  if (scope.is_main && states_->contains(key)) return states_->value(key);
  const Tensor& tensor = scope.tensor(index);
  const std::string name = source_name(tensor);
  EC_TRY(ec::Tensor * initial, add_initial_state(scope, tensor, name));
  if (!scope.is_main) {
    warn_of_state("the state '" + name + "' of a nested subgraph", reader);
    return initial;
  }
  return states_->declare(key, name, initial, reader);
}

bool Importer::is_state(const Scope& scope, int32_t index) const {
  return index >= 0 && scope.is_main && states_->contains(tensor_key(scope, index));
}

void Importer::assign_variable_tensor(Scope& scope, int32_t index, ec::Tensor* value) {
  scope.values[static_cast<size_t>(index)] = value;
  states_->assign(tensor_key(scope, index), value);
}

Result<ec::Tensor*> Importer::read_variable(const std::string& key, const Location& location) {
  const std::string state = variable_key(key);
  if (states_->contains(state)) return states_->value(state);
  const auto found = variables_.find(key);
  if (found == variables_.end()) return static_cast<ec::Tensor*>(nullptr);
  // Assigned by an operator of this run before it is read: nothing of an earlier run is seen.
  if (!initial_variables_.contains(key)) return found->second;
  return states_->declare(state, key.substr(key.find('/') + 1), found->second, location);
}

void Importer::assign_variable(const std::string& key, ec::Tensor* value) {
  const std::string state = variable_key(key);
  if (states_->contains(state)) return states_->assign(state, value);
  variables_[key] = value;
  if (initialising_)
    initial_variables_.insert(key);
  else
    initial_variables_.erase(key);
}

Result<ec::Tensor*> Importer::own_state(Scope& scope, const std::string& key,
                                        const ec::TensorType& type, Blob initial,
                                        const Location& location) {
  if (states_->contains(key)) return states_->value(key);
  ec::Tensor* first = scope.graph.add_constant("", type, std::move(initial));
  return states_->declare(key, key, first, location);
}

}  // namespace ec::tflite
