#include "frontend/tensorflow/importer.h"

#include <algorithm>

#include "frontend/tensorflow/limits.h"
#include "frontend/tensorflow/table.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

// What to do, for problems whose own message leaves it open.
std::string_view usual_hint(Code code) {
  switch (code) {
    case Code::BadAttribute:
    case Code::BadArity:
    case Code::BadValue:
    case Code::CorruptFile:
    case Code::BadTensorData:
      return "the file is damaged, or TensorFlow would refuse the node, too: export the model "
             "again";
    case Code::ShapeMismatch:
      return "check the shapes of the node's inputs; if they follow from --input-shape, try other "
             "sizes";
    case Code::TypeMismatch:
    case Code::UnsupportedType:
      return "only tensors of numbers and booleans are supported";
    case Code::UnsupportedOpForm:
      return "export the model with other options, or report the form that you need";
    case Code::TooLarge:
    case Code::TooDeep:
      return "no exporter writes such files: export the model again";
    case Code::DynamicShape:
      return "give the shapes of the model's inputs with --input-shape";
    default:
      return {};
  }
}

// Why operators of a kind have no place in a compiled graph, and what to do instead.
std::string_view missing_hint(std::string_view op) {
  const auto has = [&](std::string_view part) { return op.find(part) != std::string_view::npos; };
  if (has("Table"))
    return "lookup tables are not supported: look tokens up before the model and export it from "
           "their numbers on";
  if (has("String") || has("Regex") || has("Unicode") || has("Parse") || has("Decode"))
    return "texts and encoded files are not supported: export the model from the tensor behind on";
  if (has("Sparse") || has("Ragged"))
    return "sparse and ragged tensors are not supported: export the model with dense inputs";
  if (has("Dataset") || has("Iterator")) return "export the model without its input pipeline";
  return "express the layer with other operators, or report the operator that you need";
}

}  // namespace

Importer::Importer(FileBytes file, size_t model_bytes, std::string path, FunctionLibrary& library,
                   VariableSource* variables, DiagnosticSink& sink, KeptOperations* keeping)
    : path_(std::move(path)),
      library_(library),
      variable_source_(variables),
      sink_(sink),
      keeping_(keeping),
      tensors_(std::move(file)),
      turned_room_(max_turned_bytes(model_bytes)),
      weight_memory_(model_bytes),
      max_operations_(max_operations(model_bytes)) {}

void Importer::report(Error error) {
  if (++errors_ >= kMaxImportErrors) stopped_ = true;
  sink_.report(explained(std::move(error)));
}

Error Importer::explained(Error error) const {
  const Code code = error.code();
  return std::move(error).file(path_).hint(std::string(usual_hint(code)));
}

Error Importer::unknown_operator(std::string_view op) {
  return Error(Code::UnsupportedOp, "operator " + printable(op) + " is not supported")
      .hint(std::string(missing_hint(op)));
}

void Importer::warn(Diagnostic diagnostic) {
  if (!first_time(diagnostic.message)) return;
  diagnostic.severity = Severity::Warning;
  diagnostic.file = path_;
  sink_.report(std::move(diagnostic));
}

void Importer::missing_op(std::string_view op, const std::string& node) {
  ++errors_;
  const auto known = std::find_if(missing_.begin(), missing_.end(),
                                  [&](const MissingOp& missing) { return missing.name == op; });
  MissingOp& missing = known != missing_.end() ? *known : missing_.emplace_back();
  if (missing.count++ == 0) missing.name = op;
  if (missing.nodes.size() < 4) missing.nodes.push_back(node);
}

void Importer::report_missing() {
  for (MissingOp& missing : missing_) {
    Error error = unknown_operator(missing.name);
    for (size_t i = 1; i < missing.nodes.size(); ++i)
      error.diagnostic().notes.push_back("also at '" + missing.nodes[i] + "'");
    if (missing.count > missing.nodes.size())
      error.diagnostic().notes.push_back(std::to_string(missing.count - missing.nodes.size()) +
                                         " more of this kind");
    sink_.report(std::move(error).node(missing.nodes.front(), printable(missing.name)).file(path_));
  }
  missing_.clear();
}

// --- the model's own graph ----------------------------------------------------------------------

std::unique_ptr<ec::Graph> Importer::run(const std::string& name, const Interface& interface,
                                         const std::set<std::string>& states) {
  auto graph = std::make_unique<ec::Graph>(name);
  states_.emplace(*graph);
  kept_ = states;
  Site site(*graph, true, turned_room_, weight_memory_);
  Frame frame(library_.main(), site, {}, "", 0);
  add_inputs(frame, interface);
  std::vector<Step> roots;
  for (const Interface::Output& output : interface.outputs)
    if (output.source.kind == Source::Kind::Node) roots.push_back({output.source.index, false});
  evaluate(frame, std::move(roots));
  add_outputs(frame, interface);
  if (errors_ == 0)
    if (auto finished = states_->finish(); !finished.ok()) report(std::move(finished).error());
  report_missing();
  if (errors_ > 0) return nullptr;
  erase_unused_constants(*graph);
  return graph;
}

void Importer::add_inputs(Frame& frame, const Interface& interface) {
  for (const Interface::Input& input : interface.inputs) {
    ec::Tensor* tensor = frame.site.graph.add_input(input.name, input.type);
    frame.values[input.node] = {TfValue::of(tensor, input.complex)};
    frame.state[input.node] = 2;
  }
}

void Importer::add_outputs(Frame& frame, const Interface& interface) {
  if (stopped_) return;  // what is missing was not looked at
  for (const Interface::Output& output : interface.outputs) {
    const TfValue result = value(frame, output.source);
    if (result.is_tensor()) {
      ec::Tensor* tensor = result.tensor;
      frame.site.graph.add_output(output.name, tensor);
    } else if (errors_ == 0) {
      report(Error(Code::UnsupportedType, "output '" + output.name + "' is no tensor of numbers"));
    }
  }
  if (interface.outputs.empty() && errors_ == 0)
    report(Error(Code::CorruptFile, "the model has no outputs"));
}

// --- variables ----------------------------------------------------------------------------------

uint32_t Importer::variable(std::string_view node, std::string_view shared_name) {
  const auto known = variable_ids_.find(node);
  if (known != variable_ids_.end()) return known->second;
  const auto id = static_cast<uint32_t>(variables_.size());
  Variable made;
  made.name = std::string(node);
  made.shared_name = std::string(shared_name);
  variables_.push_back(std::move(made));
  variable_ids_.emplace(std::string(node), id);
  return id;
}

Result<ec::Tensor*> Importer::read_variable(Site& site, uint32_t id, const Location& location) {
  Variable& variable = variables_[id];
  const std::string& shown = variable.shared_name.empty() ? variable.name : variable.shared_name;
  if (site.is_main && states_->contains(variable.name)) return states_->value(variable.name);
  if (const auto known = site.variables.find(id); known != site.variables.end())
    return known->second;
  if (!variable.stored) {
    if (variable_source_ == nullptr)
      return Error(Code::UnsupportedOpForm, "variable '" + shown + "' has no value in this file")
          .hint("freeze the graph with its variables as constants, or give the SavedModel folder");
    EC_TRY(variable.stored, variable_source_->read(variable.name, variable.shared_name));
  }
  ec::Tensor* tensor = site.graph.add_constant(shown.substr(0, kMaxNameLength),
                                               variable.stored->type, variable.stored->data);
  site.variables.emplace(id, tensor);
  // The graph holds the bytes now; another reader gets them from there or from the file again.
  if (site.is_main) variable.stored.reset();
  if (!site.is_main || !kept_.contains(variable.name)) return tensor;
  return states_->declare(variable.name, shown, tensor, location);
}

Status Importer::assign_variable(Site& site, uint32_t id, ec::Tensor* value,
                                 const Location& location) {
  assigned_.insert(variables_[id].name);
  if (!site.is_main)
    return Error(Code::UnsupportedOpForm, "a variable is assigned inside a loop or branch");
  EC_TRY(ec::Tensor * before, read_variable(site, id, location));
  (void)before;
  if (states_->contains(variables_[id].name)) states_->assign(variables_[id].name, value);
  return {};
}

uint32_t Importer::add_list(TensorList list) {
  lists_.push_back(std::move(list));
  return static_cast<uint32_t>(lists_.size() - 1);
}

}  // namespace ec::tf
