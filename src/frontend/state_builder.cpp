#include "frontend/state_builder.h"

#include <algorithm>

#include "ops/attrs.h"

namespace ec {

Result<Tensor*> StateBuilder::declare(const std::string& key, const std::string& name,
                                      Tensor* initial, const Location& location) {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(states_.begin(), states_.end(),
                       [&](const State& state) { return state.name == candidate; });
  };
  const std::string base = name.empty() ? "state" : name;
  std::string unique = base;
  for (int i = 1; taken(unique); ++i) unique = base + "_" + std::to_string(i);
  OpSpec spec;
  spec.attrs = StateAttrs{unique};
  spec.location = location;
  EC_TRY(Operation * read, graph_.add(OpKind::ReadState, {initial}, std::move(spec)));
  graph_.set_quant(read->output(), initial->type().quant);
  index_[key] = states_.size();
  ++changes_;
  states_.push_back({unique, read, read->output()});
  return read->output();
}

Result<std::vector<std::string>> StateBuilder::finish() {
  std::vector<std::string> kept;
  for (const State& state : states_) {
    Tensor* before = state.read->output();
    if (state.value == before) {
      Tensor* initial = state.read->input(0);
      graph_.replace_all_uses(before, initial);
      graph_.erase(state.read);
      continue;
    }
    const TensorType &from = before->type(), &to = state.value->type();
    const bool resized = from.is_static() && to.is_static() && *from.shape != *to.shape;
    if (from.dtype != to.dtype || resized)
      return Error(Code::TypeMismatch, "the state '" + state.name + "' is " + from.text() +
                                           " and the model assigns " + to.text())
          .node(std::string(state.read->location().name()), state.read->location().op_type);
    OpSpec spec;
    spec.attrs = StateAttrs{state.name};
    spec.location = state.read->location();
    EC_TRY(Operation * write, graph_.add(OpKind::WriteState, {state.value}, std::move(spec)));
    graph_.set_quant(write->output(), from.quant);
    kept.push_back(state.name);
  }
  return kept;
}

}  // namespace ec
