#include "frontend/state_builder.h"

#include <unordered_map>

#include "ops/attrs.h"
#include "ops/infer.h"
#include "ops/state_types.h"

namespace ec {
Result<Tensor*> StateBuilder::declare(const std::string& key, const std::string& name,
                                      Tensor* initial, const Location& location) {
  const std::string base = name.empty() ? "state" : name;
  std::string unique = base;
  // Long names are cut, so that thousands may be the same: counting goes on where it ended.
  size_t& last = last_number_[base];
  while (!names_.insert(unique).second) unique = base + "_" + std::to_string(++last);
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
  // What nothing assigns is a constant, also where another state gets it.
  std::unordered_map<const Tensor*, Tensor*> constants;
  std::vector<State> assigned;
  for (const State& state : states_) {
    Tensor* before = state.read->output();
    if (state.value != before) {
      assigned.push_back(state);
      continue;
    }
    Tensor* initial = state.read->input(0);
    graph_.replace_all_uses(before, initial);
    graph_.erase(state.read);
    constants.emplace(before, initial);
  }
  std::vector<std::string> kept;
  for (State& state : assigned) {
    const Tensor* before = state.read->output();
    if (const auto it = constants.find(state.value); it != constants.end())
      state.value = it->second;
    const TensorType &from = before->type(), &to = state.value->type();
    if (!fits_state(from, to))
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
  if (!constants.empty()) EC_CHECK_OK(infer_again());
  return kept;
}

// Sizes that a state holds are known where nothing writes it, and so is whether they fit.
Status StateBuilder::infer_again() {
  DiagnosticSink sink;
  infer_graph(graph_, sink);
  for (const Diagnostic& d : sink.diagnostics())
    if (d.severity == Severity::Error) return Error(d);
  return {};
}

}  // namespace ec
