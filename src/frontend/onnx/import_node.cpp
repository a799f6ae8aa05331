// Nodes: finding the row of the table or the local function, checking arity, running the converter.
#include <algorithm>

#include "frontend/limits.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/limits.h"
#include "frontend/onnx/node_context.h"
#include "frontend/onnx/table.h"
#include "support/strings.h"

namespace ec::onnx {
namespace {

std::string domain_text(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : printable(domain);
}

std::string range_text(const Arity& arity) {
  if (arity.max < 0) return std::to_string(arity.min) + " or more";
  if (arity.max == arity.min) return std::to_string(arity.min);
  return std::to_string(arity.min) + " to " + std::to_string(arity.max);
}

size_t count_given(std::span<const std::string_view> names) {
  while (!names.empty() && names.back().empty()) names = names.first(names.size() - 1);
  return names.size();
}

// Faults in the number of inputs and outputs.
std::optional<std::string> arity_fault(const OpRow& row, const Node& node) {
  const size_t inputs = count_given(node.inputs), outputs = count_given(node.outputs);
  const std::string name(row.name);
  if (!row.inputs.accepts(inputs))
    return name + " takes " + range_text(row.inputs) + " inputs, the node has " +
           std::to_string(inputs);
  // A node may leave any result unnamed; it may not name more than there are.
  if (row.outputs.max >= 0 && outputs > static_cast<size_t>(row.outputs.max))
    return name + " gives " + range_text(row.outputs) + " outputs, the node has " +
           std::to_string(outputs);
  for (size_t i = 0; i < static_cast<size_t>(row.inputs.min); ++i)
    if (row.needs(i) && node.inputs[i].empty())
      return "input " + std::to_string(i) + " of " + name + " is missing";
  return std::nullopt;
}

}  // namespace

Location Importer::location_of(const Node& node, const Frame& frame) const {
  std::string name(node.name);
  if (name.empty()) {
    const auto first = std::find_if(node.outputs.begin(), node.outputs.end(),
                                    [](std::string_view output) { return !output.empty(); });
    name =
        std::string(node.op_type) + (first == node.outputs.end() ? "" : "_" + std::string(*first));
  }
  return Location(frame.prefix + name, std::string(node.op_type));
}

void Importer::bind_output(Scope& scope, std::string_view name, Binding binding,
                           const Location& location) {
  if (name.empty()) return;
  if (const Binding* known = scope.find(name)) {
    if (!known->is(Binding::Kind::Poisoned) && !binding.is(Binding::Kind::Poisoned))
      report(Error(Code::DuplicateName, "'" + printable(name) + "' is already defined")
                 .node(std::string(location.name()), location.op_type)
                 .hint("every value has one definition: rename one of the outputs"));
    return;
  }
  scope.bind(name, std::move(binding));
}

void Importer::poison_outputs(const Node& node, Scope& scope) {
  for (const std::string_view name : node.outputs)
    if (!name.empty() && !scope.defines(name)) scope.bind(name, Binding::poisoned());
}

bool Importer::count_operation(const Location& location) {
  if (++operations_ <= max_operations_) return true;
  if (!stopped_)
    report_lasting(
        Error(Code::TooLarge, "the model expands to more than " + std::to_string(max_operations_) +
                                  " operations and constants")
            .node(std::string(location.name()), location.op_type)
            .hint(max_operations_ == kMaxModelOperations
                      ? "no larger graphs are read: split the model"
                      : "functions and nested graphs repeat themselves beyond what a file of this "
                        "size needs: export the model again"));
  stopped_ = true;
  return false;
}

void Importer::import_node(const Node& node, Scope& scope, const Frame& frame) {
  const Location location = location_of(node, frame);
  if (!count_operation(location)) return;
  const std::string_view domain = canonical_domain(node.domain);
  const auto function = functions_.find(std::tuple(domain, node.op_type, node.overload));
  if (function != functions_.end())
    return call_function(*function->second, node, scope, frame, location);
  auto version = frame.opsets.find(domain);
  int64_t number = version != frame.opsets.end() ? version->second : 0;
  if (number == 0 && !domain.empty()) number = 1;  // files often forget to import other domains
  const OpRow* row = number == 0 ? nullptr : find_row(domain, node.op_type, number);
  if (row == nullptr) return missing_op(node, domain, number, scope, location);
  convert(*row, node, number, scope, frame, location);
}

void Importer::missing_op(const Node& node, std::string_view domain, int64_t version, Scope& scope,
                          const Location& location) {
  for (MissingOp& missing : missing_ops_) {
    if (missing.domain != domain || missing.op_type != node.op_type) continue;
    ++missing.nodes;
    return poison_outputs(node, scope);
  }
  const std::string name = "'" + printable(node.op_type) + "'";
  Error error(Code::UnsupportedOp, "operator " + name + " of " + domain_text(domain) + " version " +
                                       std::to_string(version) + " is not supported");
  std::string hint;
  if (version == 0) {
    error.diagnostic().code = Code::UnsupportedOpset;
    error.diagnostic().message =
        "the model declares no version of operator set " + domain_text(domain);
    hint = "add the operator set to opset_import: export the model again";
  } else if (const OpRow* other = find_any_version(domain, node.op_type)) {
    error.diagnostic().message += version < other->since
                                      ? ": it exists since version " + std::to_string(other->since)
                                      : ": it was removed";
    hint = "declare the operator set version that the nodes were written for";
  } else {
    hint = did_you_mean(node.op_type, operator_names(domain));
    if (hint.empty() && is_known_domain(domain))
      hint = "express it with supported operators, or as a model-local function";
    if (hint.empty())
      hint = "operators of custom domains need a model-local function with their meaning";
  }
  error = std::move(error).node(std::string(location.name()), location.op_type).hint(hint);
  if (kept_ != nullptr && kept_->takes(error.code(), {}))
    return give_up(node, scope, location, std::move(error));
  missing_ops_.push_back({domain, node.op_type, std::move(error), 1});
  ++errors_;
  poison_outputs(node, scope);
}

void Importer::convert(const OpRow& row, const Node& node, int64_t version, Scope& scope,
                       const Frame& frame, Location location) {
  if (auto fault = arity_fault(row, node))
    return give_up(node, scope, location, Error(Code::BadArity, std::move(*fault)));
  std::vector<Binding> inputs;
  std::optional<Error> misfit;
  bool poisoned = false;
  for (const std::string_view name : node.inputs.first(count_given(node.inputs))) {
    inputs.push_back(name.empty() ? Binding() : resolve(scope, name, location));
    const Binding& input = inputs.back();
    poisoned = poisoned || input.is(Binding::Kind::Poisoned);
    if (row.takes_any || !input.is(Binding::Kind::Sequence)) {
      // A function's optional input that the call leaves out.
      if (input.is(Binding::Kind::Absent) && !row.takes_any && row.needs(inputs.size() - 1)) {
        misfit = Error(Code::BadArity, "input '" + printable(name) + "' has no value");
      }
      continue;
    }
    misfit = Error(Code::TypeMismatch,
                   "input '" + printable(name) + "' is a sequence, a tensor is needed");
  }
  if (misfit) return give_up(node, scope, location, std::move(*misfit));
  if (poisoned) return skip(node, scope, location);
  const size_t first_operation = scope.graph().operation_id_bound();
  const size_t first_tensor = scope.graph().tensor_id_bound();
  NodeContext ctx(*this, scope, frame, node, version, std::move(location), std::move(inputs));
  Status status = row.convert(ctx);
  if (status.ok()) status = ctx.attr_status();
  if (!status.ok()) {
    Error error = std::move(status).error();
    std::string types;
    for (const ec::Tensor* tensor : ctx.tensors())
      if (tensor != nullptr && types.size() < 400)
        types += (types.empty() ? "inputs: " : ", ") + tensor->type().text();
    if (!types.empty()) error = std::move(error).note(std::move(types));
    if (kept_ != nullptr) erase_conversion(scope, first_operation, first_tensor);
    return give_up(node, scope, ctx.location(), std::move(error));
  }
  if (ctx.is_poisoned()) return skip(node, scope, ctx.location());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty() || ctx.results()[i]) continue;
    Error error = ctx.unsupported("output " + std::to_string(i) + " is not supported");
    if (kept_ != nullptr) erase_conversion(scope, first_operation, first_tensor);
    return give_up(node, scope, ctx.location(), std::move(error));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Binding& result = *ctx.results()[i];
    if (result.is(Binding::Kind::Tensor)) apply_hint(scope, node.outputs[i], result.tensor);
    bind_output(scope, node.outputs[i], result, ctx.location());
  }
  for (const std::string_view name : ctx.unread_attributes()) {
    if (!warned_once_.insert(std::string(row.name) + "." + std::string(name)).second) continue;
    Diagnostic d(Code::BadAttribute,
                 "attribute '" + printable(name) + "' is not known and ignored");
    d.severity = Severity::Warning;
    d.file = path_.string();
    d.node = std::string(ctx.location().name());
    d.op_type = ctx.location().op_type;
    sink_->report(std::move(d));
  }
}

void Importer::call_function(const Function& function, const Node& node, Scope& scope,
                             const Frame& frame, const Location& location) {
  const auto fail = [&](Code code, std::string message) {
    give_up(node, scope, location, Error(code, std::move(message)));
  };
  for (const Frame* f = &frame; f != nullptr; f = f->caller)
    if (f->function == &function)
      return fail(Code::TooDeep, "function '" + printable(function.name) + "' calls itself");
  if (frame.depth >= kMaxDepth)
    return fail(Code::TooDeep,
                "functions call each other deeper than " + std::to_string(kMaxDepth));
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
    return fail(Code::BadArity, "the call has more inputs or outputs than function '" +
                                    printable(function.name) + "'");
  Frame callee;
  callee.function = &function;
  callee.caller = &frame;
  callee.depth = frame.depth + 1;
  callee.prefix = std::string(location.name()) + "/";
  for (const OpsetId& opset : function.opsets) {
    const std::string_view domain = canonical_domain(opset.domain);
    callee.opsets[domain] = opset.version;
    if (warned_once_.insert("opset " + std::string(domain) + std::to_string(opset.version)).second)
      check_opset(domain, opset.version);
  }
  if (function.opsets.empty()) callee.opsets = frame.opsets;
  for (const Attribute& attribute : function.default_attributes)
    callee.attributes[attribute.name] = attribute;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      callee.attributes[attribute.name] = attribute;
    } else if (const auto it = frame.attributes.find(attribute.reference);
               it != frame.attributes.end()) {
      callee.attributes[attribute.name] = it->second;
    }
  }
  Scope inner(scope.graph(), nullptr);
  bool poisoned = false;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    Binding input;
    if (i < node.inputs.size() && !node.inputs[i].empty())
      input = resolve(scope, node.inputs[i], location);
    poisoned = poisoned || input.is(Binding::Kind::Poisoned);
    inner.bind(function.inputs[i], std::move(input));
  }
  if (poisoned) return skip(node, scope, location);
  const size_t first_new = scope.graph().tensor_id_bound();
  import_nodes(function.list, inner, callee);
  if (stopped_) return poison_outputs(node, scope);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    Binding result = resolve(inner, function.outputs[i], location);
    // The caller's name is the one that the model knows.
    if (result.is(Binding::Kind::Tensor) && result.tensor->id() >= first_new &&
        !scope.graph().find_tensor(node.outputs[i]))
      scope.graph().rename(result.tensor, std::string(node.outputs[i]));
    bind_output(scope, node.outputs[i], std::move(result), location);
  }
}

}  // namespace ec::onnx
