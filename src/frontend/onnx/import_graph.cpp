// Graphs: inputs, initializers, nodes in order, outputs; the main graph and nested ones.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontend/input_shapes.h"
#include "frontend/limits.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/limits.h"
#include "frontend/onnx/order.h"
#include "frontend/onnx/types.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::onnx {
namespace {

std::string shown(std::string_view name) { return "'" + printable(name) + "'"; }

class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace

Result<Graph> Importer::enter_graph(Bytes message) {
  if (depth_ > kMaxDepth)
    return Error(Code::TooDeep, "graphs are nested deeper than " + std::to_string(kMaxDepth));
  return decode_graph(message, budget_);
}

std::unique_ptr<ec::Graph> Importer::import_main(const Frame& frame) {
  Result<Graph> decoded = enter_graph(*model_.graph);
  auto graph = std::make_unique<ec::Graph>();
  if (!decoded.ok()) {
    report(std::move(decoded).error());
    return graph;
  }
  const size_t listed = decoded->list.nodes.size() + decoded->initializers.size() +
                        decoded->sparse_initializers.size();
  if (listed > kMaxModelOperations) {
    report(Error(Code::TooLarge, fmt::format("the graph lists {} nodes and initialisers, the limit "
                                             "is {}",
                                             listed, kMaxModelOperations))
               .hint("split the model"));
    return graph;
  }
  max_operations_ = std::min(max_operations_ + listed, kMaxModelOperations);
  if (!decoded->name.empty()) graph->set_name(std::string(decoded->name));
  Scope scope(*graph, nullptr);
  scope.set_declared(&*decoded);
  bind_initializers(*decoded, scope);
  add_inputs(*decoded, scope);
  import_nodes(decoded->list, scope, frame);
  add_outputs(*decoded, scope);
  return graph;
}

void Importer::add_inputs(const Graph& graph, Scope& scope) {
  std::vector<NamedInput> inputs;
  std::vector<std::string_view> names;
  std::set<std::string_view> seen;
  for (const ValueInfo& info : graph.inputs) {
    if (info.name.empty()) {
      report(Error(Code::UndefinedName, "an input of the graph has no name")
                 .hint("export the model again"));
      continue;
    }
    if (!seen.insert(info.name).second) {
      report(Error(Code::DuplicateName, "two inputs are named " + shown(info.name))
                 .hint("give every input a name of its own"));
      continue;
    }
    if (scope.defines(info.name)) continue;  // has an initializer: a constant
    Result<TensorType> type = declared_type(info, invented_dims_);
    if (!type.ok()) {
      report(std::move(type).error());
      scope.bind(info.name, Binding::poisoned());
      continue;
    }
    if (const auto given = options_.input_values.find(std::string(info.name));
        given != options_.input_values.end()) {
      bind_value(info.name, *type, given->second, scope);
      continue;
    }
    inputs.push_back({std::string(info.name), std::move(*type)});
    names.push_back(info.name);
  }
  DiagnosticSink faults;
  apply_input_options(inputs, options_, faults);
  for (const Diagnostic& d : faults.diagnostics()) report(Error(d));
  for (size_t i = 0; i < inputs.size(); ++i)
    scope.bind(names[i], Binding::of(scope.graph().add_input(inputs[i].name, inputs[i].type)));
}

// An input whose value the user gave is a constant.
void Importer::bind_value(std::string_view name, const TensorType& type, const InputValue& value,
                          Scope& scope) {
  Result<ec::Tensor*> made = add_input_constant(scope.graph(), std::string(name), type, value);
  if (!made.ok()) {
    report(std::move(made).error());
    return scope.bind(name, Binding::poisoned());
  }
  scope.bind(name, Binding::of(*made));
  scope.graph().metadata()[std::string(kInputValueKey) + std::string(name)] =
      input_value_text(value);
}

void Importer::bind_initializers(const Graph& graph, Scope& scope) {
  const auto bind = [&](const NamedTensor& tensor, bool sparse) {
    if (tensor.name.empty()) return;
    if (scope.defines(tensor.name))
      return report(
          Error(Code::DuplicateName, "initializer " + shown(tensor.name) + " is defined twice")
              .hint("the exporter repeated a tensor: export the model again"));
    Binding binding;
    binding.kind = Binding::Kind::Initializer;
    binding.initializer = &tensor;
    binding.sparse = sparse;
    scope.bind(tensor.name, std::move(binding));
  };
  for (const NamedTensor& tensor : graph.initializers) bind(tensor, false);
  for (const NamedTensor& tensor : graph.sparse_initializers) bind(tensor, true);
}

void Importer::import_nodes(const NodeList& list, Scope& scope, const Frame& frame) {
  const NodeOrder order = order_nodes(list, budget_);
  for (const std::vector<uint32_t>& cycle : order.cycles) {
    std::string path;
    for (const uint32_t i : cycle) {
      if (path.size() < 300) path += shown(location_of(list.nodes[i], frame).name()) + " -> ";
      poison_outputs(list.nodes[i], scope);
    }
    const Location first = location_of(list.nodes[cycle.front()], frame);
    path += shown(first.name());
    report(Error(Code::CyclicGraph, "the node needs its own result: " + path)
               .node(std::string(first.name()), first.op_type)
               .hint("one of these nodes reads the wrong name"));
  }
  for (const uint32_t i : order.order) {
    if (Status stop = check_budget(); !stop.ok() && !stopped_) {
      report(std::move(stop).error());
      stopped_ = true;
    }
    if (stopped_) return;
    import_node(list.nodes[i], scope, frame);
  }
}

void Importer::materialize(Binding& binding, Scope& scope) {
  const NamedTensor& tensor = *binding.initializer;
  if (!count_operation(Location(std::string(tensor.name)))) {
    binding = Binding::poisoned();
    return;
  }
  const std::string name(tensor.name);
  Result<ec::Tensor*> constant = binding.sparse
                                     ? add_sparse_constant(tensor.message, scope.graph(), name)
                                     : add_constant(tensor.message, scope.graph(), name);
  if (constant.ok()) {
    binding = Binding::of(*constant);
  } else {
    binding = Binding::poisoned();
    report_lasting(std::move(constant).error());
  }
}

Binding Importer::translate(const Binding& outer, Scope& scope) {
  if (outer.is(Binding::Kind::Tensor)) return Binding::of(scope.capture(outer.tensor));
  if (!outer.is(Binding::Kind::Sequence)) return outer;
  std::vector<Binding> items;
  for (const Binding& item : *outer.items) items.push_back(translate(item, scope));
  return Binding::of(std::move(items));
}

std::optional<Binding> Importer::lookup(Scope& scope, std::string_view name) {
  if (Binding* binding = scope.find(name)) {
    if (binding->is(Binding::Kind::Initializer)) materialize(*binding, scope);
    return *binding;
  }
  if (scope.parent() == nullptr) return std::nullopt;
  std::optional<Binding> outer = lookup(*scope.parent(), name);
  if (!outer || &scope.parent()->graph() == &scope.graph()) return outer;
  Binding inner = translate(*outer, scope);
  scope.bind(name, inner);
  return inner;
}

Binding Importer::resolve(Scope& scope, std::string_view name, const Location& reader) {
  if (std::optional<Binding> binding = lookup(scope, name)) return std::move(*binding);
  Error error(Code::UndefinedName, "nothing defines " + shown(name));
  if (!reader.op_type.empty())
    error = std::move(error).node(std::string(reader.name()), reader.op_type);
  std::string hint = did_you_mean(name, scope.known_names());
  if (hint.empty()) hint = "the node that computes it is missing: export the model again";
  report(std::move(error).hint(std::move(hint)));
  scope.bind(name, Binding::poisoned());
  return Binding::poisoned();
}

void Importer::add_outputs(const Graph& graph, Scope& scope) {
  if (stopped_) return;  // what is missing was not looked at
  if (graph.outputs.empty() && errors_ == 0)
    report(Error(Code::CorruptFile, "the graph has no outputs").hint("export the model again"));
  std::set<std::string_view> names;
  for (const ValueInfo& output : graph.outputs) {
    if (!names.insert(output.name).second) {
      report(Error(Code::DuplicateName, "two outputs of the graph are called " + shown(output.name))
                 .hint("export the model again with a name for each output"));
      continue;
    }
    const Binding binding = resolve(scope, output.name, Location());
    if (binding.is(Binding::Kind::Tensor)) {
      scope.graph().add_output(std::string(output.name), binding.tensor);
      check_declared(output, *binding.tensor);
    } else if (!binding.is(Binding::Kind::Poisoned)) {
      report(Error(Code::UnsupportedType, "output " + shown(output.name) + " is no tensor")
                 .hint("only tensors can be outputs: let the model return the elements"));
    }
  }
}

void Importer::apply_hint(Scope& scope, std::string_view name, ec::Tensor* tensor) {
  if (tensor->shape() || tensor->producer() == nullptr) return;
  const ValueInfo* declared = scope.declared(name);
  if (declared == nullptr) return;
  int ignored = 0;
  const Result<TensorType> type = declared_type(*declared, ignored);
  if (!type.ok() || !type->shape || type->dtype != tensor->dtype()) return;
  // The rank only: sizes go stale when a model is edited or its inputs are given other shapes.
  scope.graph().set_type(
      tensor,
      TensorType(type->dtype, Shape(std::vector<Dim>(type->shape->rank(), Dim::unknown()))));
}

void Importer::check_declared(const ValueInfo& declared, const ec::Tensor& tensor) {
  int ignored = 0;
  const Result<TensorType> type = declared_type(declared, ignored);
  if (!type.ok()) return;
  bool fits = type->dtype == tensor.dtype();
  if (type->shape && tensor.shape()) {
    fits = fits && type->shape->rank() == tensor.shape()->rank();
    for (size_t i = 0; fits && i < type->shape->rank(); ++i) {
      const Dim &a = (*type->shape)[i], &b = (*tensor.shape())[i];
      fits = !a.is_static() || !b.is_static() || a == b;
    }
  }
  if (fits) return;
  Diagnostic d(type->dtype == tensor.dtype() ? Code::ShapeMismatch : Code::TypeMismatch,
               "output " + shown(declared.name) + " is declared as " + type->text() +
                   ", the nodes give " + tensor.type().text());
  d.severity = Severity::Warning;
  d.file = path_.string();
  d.hint = "the declaration in the file is ignored";
  sink_->report(std::move(d));
}

// --- nested graphs ------------------------------------------------------------------------------

Body Importer::import_body(Bytes message, Scope& outer, const Frame& frame,
                           const std::vector<TensorType>& inputs) {
  const DepthGuard depth(depth_);
  const Budget saved = budget_;
  Body body;
  Result<Graph> decoded = enter_graph(message);
  if (!decoded.ok()) {
    report(std::move(decoded).error());
    return body;
  }
  const size_t errors_before = errors_;
  body.graph =
      std::make_unique<ec::Graph>(decoded->name.empty() ? "body" : std::string(decoded->name));
  Scope scope(*body.graph, &outer);
  scope.set_declared(&*decoded);
  for (size_t i = 0; i < inputs.size() && i < decoded->inputs.size(); ++i) {
    const std::string_view name = decoded->inputs[i].name;
    scope.bind(name, Binding::of(body.graph->add_input(std::string(name), inputs[i])));
  }
  bind_initializers(*decoded, scope);
  import_nodes(decoded->list, scope, frame);
  budget_ = saved;
  if (stopped_) return body;
  for (const ValueInfo& output : decoded->outputs) {
    const Binding binding = resolve(scope, output.name, Location());
    if (binding.is(Binding::Kind::Tensor))
      body.graph->add_output(std::string(output.name), binding.tensor);
    else if (!binding.is(Binding::Kind::Poisoned))
      report(Error(Code::UnsupportedType,
                   "output " + shown(output.name) + " of a nested graph is no tensor"));
  }
  body.captures = scope.captures();
  body.ok = errors_ == errors_before && body.graph->outputs().size() == decoded->outputs.size();
  return body;
}

Body Importer::try_body(Bytes message, Scope& outer, const Frame& frame,
                        const std::vector<TensorType>& inputs) {
  DiagnosticSink attempt;
  KeptOperations* const keeping = std::exchange(kept_, nullptr);
  DiagnosticSink* const real = std::exchange(sink_, &attempt);
  const size_t errors_before = errors_, lasting_before = lasting_errors_.size();
  const size_t missing_before = missing_ops_.size();
  const std::set<std::string> warned_before = warned_once_;
  Body body = import_body(message, outer, frame, inputs);
  sink_ = real;
  kept_ = keeping;
  if (body.ok) {
    for (const Diagnostic& d : attempt.diagnostics()) sink_->report(d);
    return body;
  }
  // Everything is as before, but for tensors that cannot be read: they stay so.
  errors_ = errors_before + (lasting_errors_.size() - lasting_before);
  missing_ops_.erase(missing_ops_.begin() + static_cast<std::ptrdiff_t>(missing_before),
                     missing_ops_.end());
  warned_once_ = warned_before;
  stopped_ = operations_ > max_operations_ || errors_ >= kMaxImportErrors;
  return body;
}

std::optional<std::vector<Binding>> Importer::inline_graph(Bytes message, Scope& outer,
                                                           const Frame& frame,
                                                           const std::vector<Binding>& inputs) {
  const DepthGuard depth(depth_);
  const Budget saved = budget_;
  Result<Graph> decoded = enter_graph(message);
  if (!decoded.ok()) {
    report(std::move(decoded).error());
    return std::nullopt;
  }
  const size_t errors_before = errors_;
  Scope scope(outer.graph(), &outer);
  bind_initializers(*decoded, scope);
  for (size_t i = 0; i < inputs.size() && i < decoded->inputs.size(); ++i)
    scope.bind(decoded->inputs[i].name, inputs[i]);
  import_nodes(decoded->list, scope, frame);
  budget_ = saved;
  if (stopped_) return std::nullopt;
  std::vector<Binding> outputs;
  bool ok = true;
  for (const ValueInfo& output : decoded->outputs) {
    outputs.push_back(resolve(scope, output.name, Location()));
    ok = ok && !outputs.back().is(Binding::Kind::Poisoned);
  }
  if (!ok || errors_ != errors_before) return std::nullopt;
  return outputs;
}

Result<std::pair<size_t, size_t>> Importer::count_interface(Bytes message) {
  Budget budget = budget_;
  EC_TRY(const Graph graph, decode_graph(message, budget));
  return std::pair(graph.inputs.size(), graph.outputs.size());
}

}  // namespace ec::onnx
