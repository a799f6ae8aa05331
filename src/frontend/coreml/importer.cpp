#include "frontend/coreml/importer.h"

#include <algorithm>

#include "frontend/coreml/coreml.h"
#include "frontend/coreml/limits.h"
#include "frontend/op_builder.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

// What to do, for problems whose own message leaves it open.
std::string_view usual_hint(Code code) {
  switch (code) {
    case Code::UnsupportedOp:
    case Code::UnsupportedOpForm:
    case Code::UnsupportedType:
      return "give the model that the package was made from (ONNX, PyTorch, TensorFlow), or report "
             "the form that you need";
    case Code::BadAttribute:
    case Code::BadArity:
    case Code::BadValue:
    case Code::CorruptFile:
    case Code::BadTensorData:
    case Code::TypeMismatch:
    case Code::ShapeMismatch:
    case Code::UndefinedName:
    case Code::DuplicateName:
      return "the package is damaged, or no Core ML tool wrote it: convert the model again";
    case Code::TooLarge:
    case Code::TooDeep:
      return "no converter writes such packages: convert the model again";
    case Code::DynamicShape:
      return "give the shapes of the model's inputs with --input-shape";
    default:
      return {};
  }
}

// "CoreML7": 7. 0: no name of an operator set.
int opset_number(std::string_view name) {
  constexpr std::string_view kPrefix = "CoreML";
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  int number = 0;
  for (const char c : name) {
    if (c < '0' || c > '9' || number > 1000) return 0;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

Importer::Importer(const coreml::Model& model, std::string file, size_t bytes,
                   const ImportOptions& options, DiagnosticSink& sink)
    : model_(model), file_(std::move(file)), bytes_(bytes), options_(options), sink_(sink) {}

Error Importer::explained(Error error) const {
  const Code code = error.code();
  return std::move(error).file(file_).hint(std::string(usual_hint(code)));
}

void Importer::report(Error error) {
  error = explained(std::move(error));
  if (options_.kept != nullptr && options_.kept->takes_problem(error.code())) {
    error.diagnostic().severity = Severity::Warning;
    return sink_.report(error.diagnostic());
  }
  if (++errors_ >= kMaxImportErrors) stopped_ = true;
  sink_.report(std::move(error));
}

void Importer::report_missing() {
  for (MissingOp& missing : missing_) {
    if (missing.count > 1)
      missing.error.diagnostic().notes.push_back(std::to_string(missing.count - 1) +
                                                 " more operations of this kind");
    report(std::move(missing.error));
  }
}

bool Importer::may_expand(size_t bytes) {
  const size_t limit = max_expanded_bytes(bytes_);
  if (bytes > limit || expanded_bytes_ > limit - bytes) return false;
  expanded_bytes_ += bytes;
  return true;
}

void Importer::set_classes(const coreml::Value& classes) {
  constexpr size_t kMost = size_t{1} << 20;
  std::string text;
  const auto add = [&](const std::string& label) {
    if (text.size() < kMost) text += (text.empty() ? "" : "\n") + printable(label, 200);
  };
  for (const std::string& label : classes.strings) add(label);
  for (const coreml::Value& item : classes.items)
    for (const std::string& label : item.strings) add(label);
  classes_ = std::move(text);
}

Result<std::unique_ptr<ec::Graph>> Importer::run(const std::string& name,
                                                 const coreml::Function& function,
                                                 const coreml::Interface& interface) {
  const int opset = opset_number(function.opset);
  if (opset == 0)
    report(Error(Code::UnsupportedOpset,
                 "the operator set '" + printable(function.opset, 100) + "' is not known")
               .hint("CoreML5 to CoreML9 are read"));
  auto graph = std::make_unique<ec::Graph>(name.substr(0, kMaxNameLength));
  states_.emplace(*graph);
  Site site(*graph, true);
  Scope scope(site, nullptr, opset == 0 ? 1000 : opset);
  add_states(scope, function);
  add_inputs(scope, function, interface);
  import_block(function.block, scope);
  report_missing();
  if (!stopped_) add_outputs(scope, function.block);
  if (errors_ == 0)
    if (auto kept = states_->finish(); !kept.ok()) report(std::move(kept).error());
  if (errors_ > 0) return sink_.first_error();
  erase_unused_constants(*graph);
  set_metadata(*graph, interface);
  return graph;
}

}  // namespace ec::mil
