// Nested graphs of a program: branches, loops, and blocks that run under a setting such as no_grad.
#include "frontend/torch/export/import_graph.h"

namespace ec::torch::exported {
namespace {

// Iterations whose condition is known are written out up to this number.
constexpr int kMaxUnrolled = 64;

std::vector<TorchValue> values_of(const Operation& op) {
  return {op.outputs().begin(), op.outputs().end()};
}

std::vector<TorchValue> joined(std::vector<TorchValue> values,
                               const std::vector<TorchValue>& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

// A condition as one truth value: of a branch, or of a loop.
Result<ec::Tensor*> truth(const CallSite& site, const TorchValue& value) {
  EC_TRY(const TensorRef flag, as_tensor(site, value));
  EC_TRY(const TorchValue scalar, as_number(site, flag, SymScalar::Kind::Bool));
  if (const auto known = known_int(scalar))
    return site.graph->add_scalar("", DType::Bool, static_cast<double>(*known));
  return scalar.get<SymScalar>().tensor;
}

}  // namespace

Result<std::shared_ptr<const GraphDef>> GraphImport::graph_argument(const NodeDef& node,
                                                                    size_t index) const {
  const auto* nested =
      index < node.inputs.size()
          ? std::get_if<std::shared_ptr<const GraphDef>>(&node.inputs[index].value.value)
          : nullptr;
  if (nested == nullptr) return Error(Code::CorruptFile, "a nested graph is missing");
  return *nested;
}

Result<std::vector<TorchValue>> GraphImport::list_argument(const NodeDef& node, size_t index,
                                                           const CallSite& site) {
  if (index >= node.inputs.size()) return Error(Code::BadArity, "an argument is missing");
  const auto given = value(node.inputs[index].value, site);
  if (!given || given->items() == nullptr)
    return Error(Code::CorruptFile, "the operands of a nested graph cannot be read");
  EC_TRY(const TorchValue current, functional_.current(site, *given));
  return *current.items();
}

Result<std::vector<TorchValue>> GraphImport::call_higher_order(const NodeDef& node,
                                                               const CallSite& site) {
  const std::string_view name = higher_order(node.target);
  if (name == "cond") return call_cond(node, site);
  if (name == "while_loop") return call_while(node, site);
  if (name == "scan") return call_scan(node, site);
  // (enabled, graph, operands...) and (device, dtype, enabled, cache, graph, operands...)
  if (name == "wrap_with_set_grad_enabled") return call_inlined(node, site, 1);
  if (node.inputs.size() > 4) {
    const auto enabled = value(node.inputs[2].value, site);
    if (enabled && known_int(*enabled) == 1)
      program_.sink().warn(Code::UnsupportedOpForm,
                           "autocast is on for a part of the model and left out: it computes in "
                           "the types of its operands",
                           std::string(site.location.name()));
  }
  return call_inlined(node, site, 4);
}

Result<std::vector<TorchValue>> GraphImport::call_inlined(const NodeDef& node, const CallSite& site,
                                                          size_t graph_input) {
  EC_TRY(const auto nested, graph_argument(node, graph_input));
  std::vector<TorchValue> operands;
  for (size_t i = graph_input + 1; i < node.inputs.size(); ++i) {
    auto operand = value(node.inputs[i].value, site);
    if (!operand) return Error(Code::UndefinedName, "an operand of a nested graph has no value");
    operands.push_back(std::move(*operand));
  }
  return inline_graph(*nested, std::move(operands), site);
}

Result<std::vector<TorchValue>> GraphImport::inline_graph(const GraphDef& def,
                                                          std::vector<TorchValue> operands,
                                                          const CallSite& site) {
  if (operands.size() != def.inputs.size())
    return Error(Code::BadArity, "a nested graph takes " + std::to_string(def.inputs.size()) +
                                     " operands, not " + std::to_string(operands.size()));
  // A scope of its own: names of nested graphs may repeat those outside.
  auto outer = std::exchange(values_, {});
  auto outer_failed = std::exchange(failed_, {});
  for (size_t i = 0; i < operands.size(); ++i)
    if (const auto* named = std::get_if<Named>(&def.inputs[i].value))
      values_[named->name] = std::move(operands[i]);
  const size_t errors = program_.errors();
  run(def);
  std::vector<TorchValue> results;
  for (const Argument& output : def.outputs)
    if (auto result = value(output, site)) results.push_back(std::move(*result));
  values_ = std::move(outer);
  failed_ = std::move(outer_failed);
  if (program_.errors() != errors)
    return Error(Code::UnsupportedOpForm, "a nested graph could not be imported");
  return results;
}

// --- bodies --------------------------------------------------------------------------------------

TorchValue GraphImport::Body::take(const std::string& name, const TorchValue& operand) {
  const auto inside = [&](ec::Tensor* tensor) {
    // Weights are repeated (the bytes are shared), so that the body can use their values.
    if (tensor->is_constant()) return graph->add_constant(name, tensor->type(), tensor->raw_data());
    captures.push_back(tensor);
    return graph->add_input(name, tensor->type());
  };
  if (const auto* ref = operand.get_if<TensorRef>()) {
    TensorRef own = *ref;
    own.alias = nullptr;
    own.tensor = inside(ref->tensor);
    return Functionalizer::adopt(std::move(own));
  }
  if (const auto* symbol = operand.get_if<SymScalar>())
    return SymScalar{inside(symbol->tensor), symbol->kind};
  return operand;
}

TorchValue GraphImport::Body::vary(const std::string& name, const TensorType& type) {
  return Functionalizer::adopt(TensorRef{graph->add_input(name, type), false, {}, {}});
}

Status GraphImport::give(const std::vector<TorchValue>& results, const CallSite& site) {
  for (const TorchValue& result : results) {
    EC_TRY(const TorchValue now, functional_.current(site, result));
    EC_TRY(const TensorRef tensor, as_tensor(site, now));
    graph_.add_output("", tensor.tensor);
  }
  return {};
}

Result<GraphImport::Body> GraphImport::build_branch(const GraphDef& def,
                                                    const std::vector<TorchValue>& operands) {
  Body body;
  GraphImport inner(program_, *body.graph);
  const CallSite site{body.graph.get(), Location(), &program_.sink(), &program_.made()};
  std::vector<TorchValue> inside;
  for (const TorchValue& operand : operands)
    inside.push_back(body.take("operand_" + std::to_string(inside.size()), operand));
  EC_TRY(const std::vector<TorchValue> results, inner.inline_graph(def, std::move(inside), site));
  EC_CHECK_OK(inner.give(results, site));
  return body;
}

// The step, and the condition on what it gives.
Result<GraphImport::Body> GraphImport::build_loop_body(const GraphDef& condition,
                                                       const GraphDef& step,
                                                       const std::vector<TensorRef>& carried,
                                                       const std::vector<TorchValue>& captured) {
  Body body;
  GraphImport inner(program_, *body.graph);
  const CallSite site{body.graph.get(), Location(), &program_.sink(), &program_.made()};
  body.graph->add_input("iteration", TensorType(DType::I64, Shape{}));
  body.graph->add_input("condition", TensorType(DType::Bool, Shape{}));
  std::vector<TorchValue> state, inside;
  for (const TensorRef& ref : carried)
    state.push_back(body.vary("carried_" + std::to_string(state.size()), ref.tensor->type()));
  for (const TorchValue& operand : captured)
    inside.push_back(body.take("operand_" + std::to_string(inside.size()), operand));
  EC_TRY(std::vector<TorchValue> next, inner.inline_graph(step, joined(state, inside), site));
  if (next.size() != carried.size())
    return Error(Code::BadArity, "a loop does not give as many values as it carries");
  Tensors results;
  for (size_t i = 0; i < next.size(); ++i) {
    EC_TRY(next[i], inner.functional_.current(site, next[i]));
    EC_TRY(const TensorRef result, as_tensor(site, next[i]));
    if (result.tensor->dtype() != carried[i].tensor->dtype())
      return Error(Code::TypeMismatch, "a loop changes the type of a value that it carries");
    results.push_back(result.tensor);
  }
  EC_TRY(const std::vector<TorchValue> flags,
         inner.inline_graph(condition, joined(next, inside), site));
  if (flags.size() != 1) return Error(Code::BadArity, "a loop needs one condition");
  EC_TRY(const TorchValue flag, inner.functional_.current(site, flags[0]));
  EC_TRY(ec::Tensor * again, truth(site, flag));
  body.graph->add_output("", again);
  for (ec::Tensor* result : results) body.graph->add_output("", result);
  return body;
}

// --- branches and loops --------------------------------------------------------------------------

// cond(predicate, true graph, false graph, operands)
Result<std::vector<TorchValue>> GraphImport::call_cond(const NodeDef& node, const CallSite& site) {
  if (node.inputs.size() != 4) return Error(Code::BadArity, "cond takes four arguments");
  const auto predicate = value(node.inputs[0].value, site);
  if (!predicate) return Error(Code::CorruptFile, "the condition cannot be read");
  EC_TRY(const auto if_true, graph_argument(node, 1));
  EC_TRY(const auto if_false, graph_argument(node, 2));
  EC_TRY(const std::vector<TorchValue> operands, list_argument(node, 3, site));
  EC_TRY(const TorchValue condition, functional_.current(site, *predicate));
  if (const auto known = known_int(condition))
    return inline_graph(*known != 0 ? *if_true : *if_false, operands, site);
  OpSpec spec;
  spec.location = site.location;
  EC_TRY(ec::Tensor * flag, truth(site, condition));
  Tensors inputs = {flag};
  for (const GraphDef* branch : {if_true.get(), if_false.get()}) {
    EC_TRY(Body body, build_branch(*branch, operands));
    spec.num_outputs = body.graph->outputs().size();
    if (inputs.size() == 1) inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
    spec.bodies.push_back(std::move(body.graph));
  }
  if (spec.bodies[0]->outputs().size() != spec.bodies[1]->outputs().size())
    return Error(Code::BadArity, "the branches of cond give different numbers of results");
  EC_TRY(const Operation* op, graph_.add(OpKind::If, std::move(inputs), std::move(spec)));
  return values_of(*op);
}

// while_loop(condition graph, step graph, carried, captured)
Result<std::vector<TorchValue>> GraphImport::call_while(const NodeDef& node, const CallSite& site) {
  EC_TRY(const auto condition, graph_argument(node, 0));
  EC_TRY(const auto step, graph_argument(node, 1));
  EC_TRY(std::vector<TorchValue> carried, list_argument(node, 2, site));
  EC_TRY(const std::vector<TorchValue> captured, list_argument(node, 3, site));
  // A counter of known start runs now.
  for (int i = 0; i < kMaxUnrolled; ++i) {
    EC_TRY(const std::vector<TorchValue> flags,
           inline_graph(*condition, joined(carried, captured), site));
    if (flags.size() != 1) return Error(Code::BadArity, "a loop needs one condition");
    EC_TRY(const TorchValue flag, functional_.current(site, flags[0]));
    const auto known = known_int(flag);
    if (!known) break;
    if (*known == 0) return carried;
    EC_TRY(carried, inline_graph(*step, joined(carried, captured), site));
    for (TorchValue& result : carried) {
      EC_TRY(result, functional_.current(site, result));
    }
  }
  return loop(*condition, *step, std::move(carried), captured, site);
}

Result<std::vector<TorchValue>> GraphImport::loop(const GraphDef& condition, const GraphDef& step,
                                                  std::vector<TorchValue> carried,
                                                  const std::vector<TorchValue>& captured,
                                                  const CallSite& site) {
  EC_TRY(const std::vector<TorchValue> flags,
         inline_graph(condition, joined(carried, captured), site));
  if (flags.size() != 1) return Error(Code::BadArity, "a loop needs one condition");
  EC_TRY(const TorchValue first, functional_.current(site, flags[0]));
  EC_TRY(ec::Tensor * flag, truth(site, first));
  std::vector<TensorRef> states;
  for (const TorchValue& state : carried) {
    EC_TRY(TensorRef ref, as_tensor(site, state));
    states.push_back(std::move(ref));
  }
  EC_TRY(Body body, build_loop_body(condition, step, states, captured));
  Tensors inputs = {nullptr, flag};
  for (const TensorRef& state : states) inputs.push_back(state.tensor);
  inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
  OpSpec spec;
  spec.location = site.location;
  spec.attrs = LoopAttrs{.num_carried = static_cast<int64_t>(states.size())};
  spec.num_outputs = states.size();
  spec.bodies.push_back(std::move(body.graph));
  EC_TRY(const Operation* op, graph_.add(OpKind::Loop, std::move(inputs), std::move(spec)));
  return values_of(*op);
}

// scan(step graph, states, sequences, captured): along the first dimension.
Result<std::vector<TorchValue>> GraphImport::call_scan(const NodeDef& node, const CallSite& site) {
  EC_TRY(const auto step, graph_argument(node, 0));
  EC_TRY(const std::vector<TorchValue> states, list_argument(node, 1, site));
  EC_TRY(const std::vector<TorchValue> sequences, list_argument(node, 2, site));
  EC_TRY(const std::vector<TorchValue> captured, list_argument(node, 3, site));
  Body body;
  Tensors inputs;
  std::vector<TorchValue> inside;
  for (const TorchValue& operand : joined(states, sequences)) {
    EC_TRY(const TensorRef ref, as_tensor(site, operand));
    TensorType type = ref.tensor->type();
    const bool sequence = inputs.size() >= states.size();
    if (sequence) {
      if (!type.shape || type.shape->rank() == 0)
        return Error(Code::ShapeMismatch, "a sequence has no dimension to go along");
      type.shape->dims().erase(type.shape->dims().begin());
    }
    inside.push_back(
        body.vary((sequence ? "entry_" : "state_") + std::to_string(inputs.size()), type));
    inputs.push_back(ref.tensor);
  }
  for (const TorchValue& operand : captured)
    inside.push_back(body.take("operand_" + std::to_string(inside.size()), operand));
  GraphImport inner(program_, *body.graph);
  const CallSite inner_site{body.graph.get(), Location(), &program_.sink(), &program_.made()};
  EC_TRY(const std::vector<TorchValue> results,
         inner.inline_graph(*step, std::move(inside), inner_site));
  EC_CHECK_OK(inner.give(results, inner_site));
  if (results.size() < states.size())
    return Error(Code::BadArity, "a scan gives fewer values than it has states");
  inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
  OpSpec spec;
  spec.location = site.location;
  ScanAttrs attrs;
  attrs.num_states = static_cast<int64_t>(states.size());
  attrs.num_scan_inputs = static_cast<int64_t>(sequences.size());
  spec.attrs = std::move(attrs);
  spec.num_outputs = results.size();
  spec.bodies.push_back(std::move(body.graph));
  EC_TRY(const Operation* op, graph_.add(OpKind::Scan, std::move(inputs), std::move(spec)));
  return values_of(*op);
}

}  // namespace ec::torch::exported
