// Subgraphs: inputs, operators in order, outputs; the main one and those that operators call.
#include <algorithm>
#include <set>

#include "frontend/default_sizes.h"
#include "frontend/input_shapes.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/limits.h"
#include "frontend/tflite/table.h"
#include "frontend/tflite/types.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::tflite {
namespace {

// The name that a signature gives a tensor; empty: none.
template <class Maps>
std::string_view signature_name(const Maps* maps, int32_t tensor) {
  for (uint32_t i = 0; i < size_of(maps); ++i)
    if (maps->Get(i)->tensor_index() == static_cast<uint32_t>(tensor))
      return text_of(maps->Get(i)->name()).substr(0, kMaxNameLength);
  return {};
}

// Sizes that the signature leaves open become symbols, named after the input. The shape that the
// file has beside the signature is the default.
void open_dims(const Tensor& tensor, const std::string& input, ec::TensorType& type,
               ec::Graph& graph) {
  const Shape fixed = *type.shape;
  for (uint32_t i = 0; i < size_of(tensor.shape_signature()); ++i)
    if (tensor.shape_signature()->Get(i) < 0)
      (*type.shape)[i] = Dim::symbol(input + "_dim" + std::to_string(i));
  if (type.shape->is_static()) return;
  std::string text;
  for (const Dim& dim : fixed) text += (text.empty() ? "" : "x") + dim.text();
  graph.metadata()[std::string(kDefaultShapeKey) + input] = text;
}

std::string range_text(const Arity& arity) {
  if (arity.max < 0) return std::to_string(arity.min) + " or more";
  if (arity.max == arity.min) return std::to_string(arity.min);
  return std::to_string(arity.min) + " to " + std::to_string(arity.max);
}

// What is wrong with complex numbers as operands or results; empty: nothing.
std::string complex_fault(const OpRow& row, const OpContext& context) {
  if (row.takes_complex) return {};
  for (size_t i = 0; i < context.num_inputs(); ++i)
    if (context.is_complex_input(i))
      return "input " + std::to_string(i) + " holds complex numbers, which " +
             context.location().op_type + " does not take";
  for (size_t i = 0; i < context.num_outputs(); ++i)
    if (context.is_complex_output(i))
      return context.location().op_type + " gives no complex numbers";
  return {};
}

}  // namespace

const SignatureDef* Importer::main_signature() const {
  const auto* signatures = file_->model().signature_defs();
  for (uint32_t i = 0; i < size_of(signatures); ++i)
    if (signatures->Get(i)->subgraph_index() == 0) return signatures->Get(i);
  return nullptr;
}

std::unique_ptr<ec::Graph> Importer::import_main() {
  const SubGraph& source = file_->subgraph(0);
  const std::string_view name = text_of(source.name()).substr(0, kMaxNameLength);
  auto graph = std::make_unique<ec::Graph>(name.empty() ? "main" : std::string(name));
  Scope scope(*graph, source, true);
  states_.emplace(*graph);
  add_inputs(scope);
  import_operators(scope);
  add_outputs(scope);
  if (errors_ == 0)
    if (auto kept = states_->finish(); !kept.ok()) report(std::move(kept).error());
  return graph;
}

void Importer::add_inputs(Scope& scope) {
  const SignatureDef* signature = main_signature();
  std::vector<NamedInput> inputs;
  std::vector<int32_t> indices;
  for (uint32_t i = 0; i < size_of(scope.source.inputs()); ++i) {
    const int32_t index = scope.source.inputs()->Get(i);
    const Tensor& tensor = scope.tensor(index);
    const auto dtype = to_dtype(tensor.type());
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) continue;
    if (!dtype) {
      report(Error(Code::UnsupportedType, "input " + tensor_label(scope.source, index) +
                                              " is of type " +
                                              std::string(tensor_type_name(tensor.type()))));
      scope.poisoned[static_cast<size_t>(index)] = true;
      continue;
    }
    std::string name;
    if (signature != nullptr) name = signature_name(signature->inputs(), index);
    if (name.empty()) name = source_name(tensor);
    if (name.empty()) name = "input" + std::to_string(i);
    ec::TensorType type = declared_type(tensor, *dtype);
    open_dims(tensor, name, type, scope.graph);
    inputs.push_back({std::move(name), std::move(type)});
    indices.push_back(index);
  }
  DiagnosticSink faults;
  apply_input_options(inputs, options_, faults);
  for (const Diagnostic& d : faults.diagnostics()) report(Error(d));
  for (size_t i = 0; i < inputs.size(); ++i) {
    scope.values[static_cast<size_t>(indices[i])] =
        scope.graph.add_input(inputs[i].name, inputs[i].type);
    if (inputs[i].type.is_static())
      scope.graph.metadata().erase(std::string(kDefaultShapeKey) + inputs[i].name);
  }
}

void Importer::add_outputs(Scope& scope) {
  if (stopped_) return;  // what is missing was not looked at
  if (size_of(scope.source.outputs()) == 0 && errors_ == 0)
    report(Error(Code::CorruptFile, "the model has no outputs").hint("convert the model again"));
  const SignatureDef* signature = main_signature();
  std::set<std::string> names;
  for (uint32_t i = 0; i < size_of(scope.source.outputs()); ++i) {
    const int32_t index = scope.source.outputs()->Get(i);
    ec::Tensor* tensor = value(scope, index, Location());
    if (tensor == nullptr) {
      if (scope.handles.contains(index))
        report(Error(Code::UnsupportedType, "output " + tensor_label(scope.source, index) +
                                                " is a variable's handle, no tensor"));
      continue;
    }
    std::string name;
    if (signature != nullptr) name = signature_name(signature->outputs(), index);
    if (name.empty()) name = source_name(scope.tensor(index));
    if (name.empty()) name = "output" + std::to_string(i);
    // A tensor may be listed twice; sessions tell outputs apart by their names.
    if (!names.insert(name).second) names.insert(name += "_output" + std::to_string(i));
    scope.graph.add_output(std::move(name), tensor);
  }
}

// --- operators ----------------------------------------------------------------------------------

Location Importer::location_of(const Scope& scope, const Operator& op, uint32_t number) const {
  const std::string type = operator_name(file_->code_of(op));
  std::string name;
  if (size_of(op.outputs()) > 0) name = source_name(scope.tensor(op.outputs()->Get(0)));
  if (name.empty()) name = type + "_" + std::to_string(number);
  return Location(name, type);
}

bool Importer::count_operation(const Location& location) {
  if (stopped_) return false;
  if (++operations_ <= max_operations(blob_.size())) return true;
  report(Error(Code::TooLarge, "the model expands to more than " +
                                   std::to_string(max_operations(blob_.size())) + " operations")
             .node(std::string(location.name()), location.op_type));
  stopped_ = true;
  return false;
}

void Importer::import_operators(Scope& scope) {
  for (uint32_t i = 0; i < size_of(scope.source.operators()) && !stopped_; ++i) {
    if (Status stop = check_budget(); !stop.ok()) {
      report(std::move(stop).error());
      stopped_ = true;
      return;
    }
    import_operator(scope, *scope.source.operators()->Get(i), i);
  }
}

void Importer::poison_outputs(Scope& scope, const Operator& op) {
  for (uint32_t i = 0; i < size_of(op.outputs()); ++i)
    scope.poisoned[static_cast<size_t>(op.outputs()->Get(i))] = true;
}

void Importer::import_operator(Scope& scope, const Operator& op, uint32_t number) {
  const Location location = location_of(scope, op, number);
  if (!count_operation(location)) return;
  const int32_t code = builtin_code(file_->code_of(op));
  const OperatorInfo* info = find_operator(code);
  const OpRow* row = info != nullptr ? find_row(info->code) : nullptr;
  if (row == nullptr) return missing_op(scope, op, location);
  OpContext context(*this, scope, op, location);
  for (uint32_t i = 0; i < size_of(op.inputs()); ++i) {
    const int32_t index = op.inputs()->Get(i);
    if (index >= 0 && scope.poisoned[static_cast<size_t>(index)]) return skip(scope, op, location);
    if (index >= 0 && context.in(i) == nullptr && !row->takes_handles)
      return give_up(scope, op, location,
                     context.fail(Code::UnsupportedType, "input " + std::to_string(i) +
                                                             " is a variable's handle, no tensor"));
  }
  if (const std::string fault = complex_fault(*row, context); !fault.empty())
    return give_up(scope, op, location,
                   context.unsupported(fault).hint(
                       "take real and imaginary parts apart in the model before this operator"));
  convert(*row, context);
}

void Importer::missing_op(Scope& scope, const Operator& op, const Location& location) {
  const OperatorCode& code = file_->code_of(op);
  for (MissingOp& missing : missing_ops_) {
    if (missing.name != location.op_type) continue;
    ++missing.nodes;
    return poison_outputs(scope, op);
  }
  Error error(Code::UnsupportedOp, "operator " + location.op_type + " is not supported");
  const bool known = find_operator(builtin_code(code)) != nullptr;
  error = std::move(error)
              .node(std::string(location.name()), location.op_type)
              .hint(known ? "convert the model so that it is expressed with other operators"
                          : "the file was made for a newer TFLite: update edgecompiler, or convert "
                            "the model with an older version");
  if (options_.kept != nullptr) return give_up(scope, op, location, std::move(error));
  missing_ops_.push_back({location.op_type, std::move(error), 1});
  ++errors_;
  poison_outputs(scope, op);
}

void Importer::convert(const OpRow& row, OpContext& context) {
  const Operator& op = context.source();
  Scope& scope = context.scope();
  const size_t first_operation = scope.graph.operation_id_bound();
  const size_t first_tensor = scope.graph.tensor_id_bound();
  const size_t states_before = states_->changes();
  const auto fail = [&](Error error) {
    // What a state refers to stays.
    if (options_.kept != nullptr && states_->changes() == states_before)
      erase_conversion(scope, first_operation, first_tensor);
    give_up(scope, op, context.location(), std::move(error));
  };
  size_t inputs = size_of(op.inputs());
  while (inputs > 0 && op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(inputs - 1)) < 0)
    --inputs;
  const auto arity_fault = [&](const char* what, const Arity& arity, size_t count) {
    fail(context.fail(Code::BadArity, context.location().op_type + " has " + range_text(arity) +
                                          " " + what + ", the operator has " +
                                          std::to_string(count)));
  };
  if (!row.inputs.accepts(inputs)) return arity_fault("inputs", row.inputs, inputs);
  if (!row.outputs.accepts(size_of(op.outputs())))
    return arity_fault("outputs", row.outputs, size_of(op.outputs()));
  for (size_t i = 0; i < static_cast<size_t>(row.inputs.min); ++i)
    if (op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)) < 0)
      return fail(context.fail(Code::BadArity, "input " + std::to_string(i) + " is missing"));
  if (Status status = row.convert(context); !status.ok()) return fail(std::move(status).error());
  if (context.is_poisoned()) return skip(scope, op, context.location());
  for (size_t i = 0; i < context.num_outputs(); ++i)
    if (context.results()[i] != nullptr)
      bind(scope, context.output_index(i), context.results()[i], context.location());
}

void Importer::bind(Scope& scope, int32_t index, ec::Tensor* tensor, const Location& location) {
  const Tensor& declared = scope.tensor(index);
  const auto dtype = to_dtype(declared.type());
  if (dtype != tensor->dtype()) {
    report(Error(Code::TypeMismatch, tensor_label(scope.source, index) + " is declared as " +
                                         std::string(tensor_type_name(declared.type())) +
                                         ", the operator gives " + tensor->type().text())
               .node(std::string(location.name()), location.op_type));
    scope.poisoned[static_cast<size_t>(index)] = true;
    return;
  }
  if (auto quant = quant_params(declared)) scope.graph.set_quant(tensor, std::move(quant));
  scope.values[static_cast<size_t>(index)] = tensor;
}

// --- nested -------------------------------------------------------------------------------------

std::unique_ptr<ec::Graph> Importer::import_body(uint32_t subgraph,
                                                 const std::vector<ec::TensorType>& types) {
  const SubGraph& source = file_->subgraph(subgraph);
  const std::string_view name = text_of(source.name()).substr(0, kMaxNameLength);
  auto graph = std::make_unique<ec::Graph>(name.empty() ? "body" : std::string(name));
  std::vector<ec::Tensor*> inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool formal = i < size_of(source.inputs());
    const int32_t index =
        formal ? source.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)) : -1;
    std::string input =
        formal ? source_name(*source.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index)))
               : std::string();
    inputs.push_back(graph->add_input(std::move(input), types[i]));
  }
  const auto outputs = inline_subgraph(subgraph, *graph, false, inputs);
  if (!outputs) return nullptr;
  for (size_t i = 0; i < outputs->size(); ++i)
    graph->add_output("output" + std::to_string(i), (*outputs)[i]);
  return graph;
}

std::optional<std::vector<ec::Tensor*>> Importer::inline_subgraph(
    uint32_t subgraph, ec::Graph& graph, bool is_main, const std::vector<ec::Tensor*>& inputs) {
  const SubGraph& source = file_->subgraph(subgraph);
  const size_t before = errors_;
  operations_ += size_of(source.tensors()) / 16;  // tensors without operations take time, too
  if (!count_operation(Location(std::string(text_of(source.name()).substr(0, 100)))))
    return std::nullopt;
  Scope scope(graph, source, is_main);
  if (size_of(source.inputs()) != inputs.size()) {
    report(Error(Code::BadArity, "subgraph " + std::to_string(subgraph) + " takes " +
                                     std::to_string(size_of(source.inputs())) +
                                     " inputs, the operator gives " +
                                     std::to_string(inputs.size())));
    return std::nullopt;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    scope
        .values[static_cast<size_t>(source.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)))] =
        inputs[i];
  import_operators(scope);
  if (stopped_ || errors_ != before) return std::nullopt;
  std::vector<ec::Tensor*> outputs;
  for (uint32_t i = 0; i < size_of(source.outputs()); ++i) {
    ec::Tensor* tensor = value(scope, source.outputs()->Get(i), Location());
    if (tensor == nullptr) {
      if (errors_ == before)
        report(Error(Code::UnsupportedType,
                     "an output of subgraph " + std::to_string(subgraph) + " is no tensor"));
      return std::nullopt;
    }
    outputs.push_back(tensor);
  }
  return errors_ == before ? std::optional(std::move(outputs)) : std::nullopt;
}

}  // namespace ec::tflite
