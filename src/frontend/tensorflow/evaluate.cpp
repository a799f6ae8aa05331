// Walking a graph from its results: what they need is converted, operands first. Nothing else is
// looked at, so that what training left behind costs nothing.
#include <algorithm>

#include "frontend/tensorflow/importer.h"
#include "frontend/tensorflow/limits.h"
#include "frontend/tensorflow/table.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

std::string range_text(const Arity& arity) {
  if (arity.max < 0) return std::to_string(arity.min) + " or more";
  if (arity.max == arity.min) return std::to_string(arity.min);
  return std::to_string(arity.min) + " to " + std::to_string(arity.max);
}

bool is_call(std::string_view op) {
  return op == "PartitionedCall" || op == "StatefulPartitionedCall";
}

bool is_assignment(std::string_view op) {
  return op == "AssignVariableOp" || op == "AssignAddVariableOp" || op == "AssignSubVariableOp";
}

const char* kind_text(TfValue::Kind kind) {
  switch (kind) {
    case TfValue::Kind::Text:
      return "is a text";
    case TfValue::Kind::Variable:
      return "is a variable's handle";
    case TfValue::Kind::List:
      return "is a list of tensors";
    default:
      return "is no tensor";
  }
}

}  // namespace

std::string node_name(const Frame& frame, const Node& node) {
  const std::string_view name = node.name.substr(0, kMaxNameLength);
  return frame.prefix + std::string(name);
}

// Calls are named like "block1/StatefulPartitionedCall_2": what counts is the layer.
std::string call_prefix(const Frame& frame, const Node& node) {
  std::string_view name = node.name.substr(0, kMaxNameLength);
  const size_t slash = name.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (last.starts_with("PartitionedCall") || last.starts_with("StatefulPartitionedCall"))
    name = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  std::string prefix = frame.prefix + std::string(name);
  if (!name.empty()) prefix += "/";
  // Names of calls inside calls would grow without bound.
  if (prefix.size() > kMaxNameLength) prefix = frame.prefix;
  return prefix;
}

bool Importer::count_operations(size_t count, const std::string& node) {
  if (stopped_) return false;
  if (count <= max_operations_ && operations_ <= max_operations_ - count) {
    operations_ += count;
    if (Status stop = check_budget(); !stop.ok()) {
      report(std::move(stop).error());
      stopped_ = true;
      return false;
    }
    return true;
  }
  report(Error(Code::TooLarge,
               "the model expands to more than " + std::to_string(max_operations_) + " operations")
             .node(node));
  stopped_ = true;
  return false;
}

TfValue Importer::value(const Frame& frame, const Source& source) const {
  if (source.kind == Source::Kind::Argument)
    return source.index < frame.arguments.size() ? frame.arguments[source.index] : TfValue();
  if (source.kind != Source::Kind::Node) return {};
  const std::vector<TfValue>& results = frame.values[source.index];
  return source.output < results.size() ? results[source.output] : TfValue();
}

// --- effects: assignments run in the order that control edges say -------------------------------

bool Importer::node_has_effects(const Node& node, size_t depth) {
  if (is_assignment(node.op)) return true;
  if (!is_call(node.op)) return false;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name != "f") continue;
    const auto value = decode_attribute(attribute.value);
    if (!value.ok() || !library_.contains(value->text)) return false;
    const auto body = library_.find(value->text);
    return body.ok() && has_effects(**body, depth + 1);
  }
  return false;
}

bool Importer::has_effects(const FunctionBody& body, size_t depth) {
  const auto known = effects_.find(&body);
  if (known != effects_.end()) return known->second;
  if (depth > kMaxCallDepth) return false;
  effects_[&body] = false;  // a function that calls itself is refused elsewhere
  const auto& nodes = body.function.list.nodes;
  const bool found = std::any_of(nodes.begin(), nodes.end(),
                                 [&](const Node& node) { return node_has_effects(node, depth); });
  return effects_[&body] = found;
}

void Importer::prepare_order(Frame& frame) {
  const auto& nodes = frame.body.function.list.nodes;
  if (frame.order.size() == nodes.size()) return;
  frame.order.assign(nodes.size(), Frame::Order::New);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (node_has_effects(nodes[i], frame.depth)) frame.order[i] = Frame::Order::Effect;
}

// What control edges say has to come before `node`. Nodes without effects are only looked through,
// each of them once: whoever comes later finds that what they name is done.
void Importer::push_ordered(Frame& frame, uint32_t node, std::vector<Step>& stack) {
  if (!has_effects(frame.body, frame.depth)) return;
  prepare_order(frame);
  const auto& nodes = frame.body.function.list.nodes;
  const auto sources = frame.body.inputs_of(nodes[node]);
  for (size_t i = sources.size(); i-- > 0;) {
    const uint32_t index = sources[i].index;
    if (sources[i].kind != Source::Kind::Control || index >= nodes.size()) continue;
    if (frame.order[index] == Frame::Order::Effect) {
      if (frame.state[index] != 2) stack.push_back({index, false});
    } else if (frame.order[index] == Frame::Order::New) {
      stack.push_back({index, true});
    }
  }
}

// --- the walk -----------------------------------------------------------------------------------

void Importer::push_sources(Frame& frame, uint32_t node, std::vector<Step>& stack) {
  const auto sources = frame.body.inputs_of(frame.body.function.list.nodes[node]);
  // In reverse, so that the first operand is converted first.
  for (size_t i = sources.size(); i-- > 0;)
    if (sources[i].kind == Source::Kind::Node && frame.state[sources[i].index] != 2)
      stack.push_back({sources[i].index, false});
  push_ordered(frame, node, stack);
}

void Importer::evaluate(Frame& frame, std::vector<Step> roots) {
  const auto& nodes = frame.body.function.list.nodes;
  std::reverse(roots.begin(), roots.end());
  std::vector<Step> stack = std::move(roots);
  // Whether a node depends on itself by what was pushed last, which is dropped then.
  const auto is_cyclic = [&](uint32_t node, size_t before) {
    const auto visited = [&](const Step& step) {
      return !step.only_before && frame.state[step.node] == 1;
    };
    if (std::none_of(stack.begin() + static_cast<std::ptrdiff_t>(before), stack.end(), visited))
      return false;
    report(Error(Code::CyclicGraph, "the node depends on itself")
               .node(node_name(frame, nodes[node]), printable(nodes[node].op))
               .hint("the file is damaged, or was frozen with lowered loops: freeze with "
                     "lower_control_flow=False or give the SavedModel"));
    stack.resize(before);
    return true;
  };
  while (!stack.empty() && !stopped_) {
    const auto [node, only_before] = stack.back();
    if (only_before) {
      stack.pop_back();
      prepare_order(frame);
      if (std::exchange(frame.order[node], Frame::Order::Seen) == Frame::Order::Seen) continue;
      const size_t before = stack.size();
      push_ordered(frame, node, stack);
      is_cyclic(node, before);
      continue;
    }
    if (frame.state[node] == 2) {
      stack.pop_back();
      continue;
    }
    if (frame.state[node] == 0) {
      frame.state[node] = 1;
      const size_t before = stack.size();
      const OpRow* row = find_row(nodes[node].op);
      // Assertions and the like have no results: what they read is of no interest.
      if (row == nullptr || (row->convert != nullptr && row->takes != Takes::Nothing))
        push_sources(frame, node, stack);
      if (is_cyclic(node, before)) frame.state[node] = 2;
      continue;
    }
    frame.state[node] = 2;
    stack.pop_back();
    convert(frame, node);
  }
}

void Importer::convert(Frame& frame, uint32_t index) {
  const Node& node = frame.body.function.list.nodes[index];
  const std::string name = node_name(frame, node);
  // Nodes of functions are read again in every call, and their long lists of inputs, too.
  if (!count_operations(1 + frame.body.inputs_of(node).size() / 16, name)) return;
  const OpRow* row = find_row(node.op);
  const bool calls = row == nullptr && library_.contains(node.op);
  if (row == nullptr && calls) row = find_row("PartitionedCall");
  std::vector<TfValue>& results = frame.values[index];
  const Location location(name, std::string(printable(node.op, 100)));
  const BeforeNode before = before_node(frame.site);
  if (row == nullptr) {
    if (keep_node(frame, index, location, unknown_operator(node.op), before)) return;
    missing_op(node.op, name);
    results = {TfValue::failed()};
    return;
  }
  if (row->convert == nullptr) return;
  std::vector<TfValue> inputs;
  bool failed = false, dead = false;
  for (const Source& source : frame.body.inputs_of(node)) {
    if (source.kind == Source::Kind::Control || row->takes == Takes::Nothing) continue;
    const TfValue input = value(frame, source);
    // A node with a failed output has no others.
    const bool lost = source.kind == Source::Kind::Node && input.kind == TfValue::Kind::None &&
                      !frame.values[source.index].empty() &&
                      frame.values[source.index][0].kind == TfValue::Kind::Failed;
    failed = failed || lost || input.kind == TfValue::Kind::Failed;
    dead = dead || input.kind == TfValue::Kind::Dead;
    inputs.push_back(input);
  }
  if (failed) {
    results = {TfValue::failed()};
    return;
  }
  const bool merges = node.op == "Merge" || node.op == "RefMerge";
  if (dead && !merges) {
    results.assign(std::max<size_t>(1, split(row->outputs, ',').size()), TfValue::dead());
    return;
  }
  OpContext context(*this, frame, node, std::move(inputs), location);
  const auto give_up = [&](Error error) {
    if (keep_node(frame, index, location, error, before)) return;
    report(std::move(error).node(name, location.op_type));
    results = {TfValue::failed()};
  };
  if (!row->inputs.accepts(context.num_inputs()))
    return give_up(context.fail(
        Code::BadArity, context.location().op_type + " has " + range_text(row->inputs) +
                            " inputs, the node has " + std::to_string(context.num_inputs())));
  for (size_t i = 0; i < context.num_inputs() && row->takes != Takes::Anything; ++i) {
    const TfValue& input = context.value(i);
    if (input.kind == TfValue::Kind::None)
      return give_up(
          context.fail(Code::UndefinedName, "input " + std::to_string(i) + " is not defined"));
    if (!input.is_tensor())
      return give_up(context.fail(Code::UnsupportedType,
                                  "input " + std::to_string(i) + " " + kind_text(input.kind)));
    if (input.complex && row->takes != Takes::Complex)
      return give_up(context.unsupported("input " + std::to_string(i) + " holds complex numbers")
                         .hint("take real and imaginary parts apart in the model"));
  }
  const size_t tensors = frame.site.graph.tensor_id_bound(), counted = operations_;
  if (Status status = row->convert(context); !status.ok())
    return give_up(std::move(status).error());
  // A few bytes may name many parts or images. What a node calls was counted there.
  constexpr size_t kTensorsOfNode = 4;
  if (operations_ == counted &&
      !count_operations((frame.site.graph.tensor_id_bound() - tensors) / kTensorsOfNode, name))
    return;
  if (context.is_poisoned())
    results = {TfValue::failed()};
  else
    results = std::move(context.results());
}

// --- calls --------------------------------------------------------------------------------------

std::optional<std::vector<TfValue>> Importer::call(const FunctionBody& body, Site& site,
                                                   std::vector<TfValue> arguments,
                                                   std::string prefix, size_t depth,
                                                   const Node* caller) {
  const size_t before = errors_;
  if (depth > kMaxCallDepth) {
    report(Error(Code::TooDeep, "functions call each other more than " +
                                    std::to_string(kMaxCallDepth) + " times deep")
               .node(prefix));
    return std::nullopt;
  }
  if (arguments.size() != body.function.inputs.size()) {
    report(Error(Code::BadArity, "function '" + printable(body.function.name) + "' takes " +
                                     std::to_string(body.function.inputs.size()) +
                                     " inputs, the call gives " + std::to_string(arguments.size()))
               .node(prefix));
    return std::nullopt;
  }
  // Nodes that are not needed take memory, too.
  const auto& nodes = body.function.list.nodes;
  if (!count_operations((nodes.size() + arguments.size()) / 16, prefix)) return std::nullopt;
  Frame frame(body, site, std::move(arguments), std::move(prefix), depth);
  frame.call = caller;
  std::vector<Step> roots;
  for (const Source& result : body.results)
    if (result.kind == Source::Kind::Node) roots.push_back({result.index, false});
  if (has_effects(body, depth))
    for (const std::string_view name : body.function.control_results) {
      const auto found = body.nodes.find(name);
      if (found == body.nodes.end()) continue;
      if (node_has_effects(nodes[found->second], depth))
        roots.push_back({found->second, false});
      else
        roots.push_back({found->second, true});
    }
  evaluate(frame, std::move(roots));
  if (stopped_ || errors_ != before) return std::nullopt;
  std::vector<TfValue> results;
  for (const Source& result : body.results) results.push_back(value(frame, result));
  return results;
}

}  // namespace ec::tf
