#include "frontend/onnx/importer.h"

#include "frontend/onnx/limits.h"
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/table.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::onnx {
namespace {

Bytes as_text(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.bytes().data()), blob.size()};
}

// The newest versions that the tables know.
int64_t newest_version(std::string_view domain) {
  if (domain.empty()) return kNewestOnnxOpset;
  if (domain == "ai.onnx.ml") return 5;
  return 1;
}

// What to do, for problems whose own message leaves it open.
std::string_view usual_hint(Code code) {
  switch (code) {
    case Code::BadAttribute:
      return "the exporter wrote an attribute that the operator's definition does not allow: "
             "export again, or run onnx.checker on the model";
    case Code::BadArity:
      return "compare the node with the operator's definition in the ONNX documentation";
    case Code::ShapeMismatch:
      return "check the shapes of the node's inputs; if they follow from --input-shape, try other "
             "sizes";
    case Code::TypeMismatch:
      return "insert a Cast, or export the model in one precision";
    case Code::BadValue:
      return "compare the value with the operator's definition in the ONNX documentation";
    case Code::UnsupportedType:
      return "only tensors of numbers and booleans are supported";
    case Code::UnsupportedOpForm:
      return "export with another opset version, or report the form that you need";
    case Code::CorruptFile:
      return "the file is damaged or was cut off: export or copy it again";
    case Code::TooLarge:
    case Code::TooDeep:
      return "no exporter writes such files: export the model again";
    case Code::DynamicShape:
      return "give the shapes of the model's inputs with --input-shape";
    default:
      return {};
  }
}

}  // namespace

Importer::Importer(const Blob& file, const std::filesystem::path& path,
                   const ImportOptions& options, DiagnosticSink& sink)
    : file_(file),
      path_(path),
      options_(options),
      sink_(&sink),
      kept_(options.kept),
      budget_(Budget::for_file(file.size())),
      external_(path),
      tensors_(file, &external_),
      max_operations_(max_expanded_operations(file.size())) {}

Error Importer::explained(Error error) const {
  const Code code = error.code();
  return std::move(error).file(path_.string()).hint(std::string(usual_hint(code)));
}

void Importer::report(Error error) {
  const Code code = error.code();
  error = explained(std::move(error));
  if (kept_ != nullptr && kept_->takes_problem(code)) {
    error.diagnostic().severity = Severity::Warning;
    return sink_->report(error.diagnostic());
  }
  if (++errors_ >= kMaxImportErrors) stopped_ = true;
  sink_->report(std::move(error));
}

void Importer::report_lasting(Error error) {
  ++errors_;
  lasting_errors_.push_back(std::move(error));
}

void Importer::check_opset(std::string_view domain, int64_t version) {
  if (!is_known_domain(domain)) return;  // its operators are reported one by one
  const int64_t newest = newest_version(domain);
  const std::string name = domain.empty() ? "ai.onnx" : std::string(domain);
  if (version >= 1 && version <= newest) return;
  report(Error(Code::UnsupportedOpset, "the model needs version " + std::to_string(version) +
                                           " of operator set " + name + "; versions 1 to " +
                                           std::to_string(newest) + " are supported")
             .hint(version > newest ? "export with opset_version=" + std::to_string(newest) +
                                          " or lower, or update edgecompiler"
                                    : "export the model again"));
}

Frame Importer::model_frame() {
  Frame frame;
  for (const OpsetId& opset : model_.opsets) {
    const std::string_view domain = canonical_domain(opset.domain);
    check_opset(domain, opset.version);
    frame.opsets[domain] = std::min(opset.version, newest_version(domain));
  }
  // Before IR version 3 there was one operator set and no way to name it.
  if (model_.opsets.empty() && model_.ir_version < 3) frame.opsets[""] = 1;
  return frame;
}

Status Importer::read_model() {
  EC_TRY(model_, decode_model(as_text(file_), budget_));
  if (!model_.graph)
    return Error(Code::CorruptFile, "the file has no graph")
        .hint("this is no complete ONNX model: export or copy it again");
  for (const Bytes message : model_.functions) {
    EC_TRY(Function function, decode_function(message, budget_));
    const auto key =
        std::tuple(canonical_domain(function.domain), function.name, function.overload);
    const std::string name = printable(function.name);
    if (!functions_.emplace(key, std::make_unique<Function>(std::move(function))).second)
      report(Error(Code::DuplicateName, "function '" + name + "' is defined twice")
                 .hint("the exporter repeated a function: export the model again"));
  }
  return {};
}

void Importer::set_metadata(ec::Graph& graph) const {
  auto& metadata = graph.metadata();
  metadata["source_format"] = "onnx";
  metadata["onnx.ir_version"] = std::to_string(model_.ir_version);
  const auto put = [&](const char* key, std::string_view value) {
    if (!value.empty()) metadata[key] = std::string(value);
  };
  put("onnx.producer", model_.producer_name);
  put("onnx.producer_version", model_.producer_version);
  put("onnx.domain", model_.domain);
  put("onnx.doc", model_.doc);
  if (model_.model_version != 0)
    metadata["onnx.model_version"] = std::to_string(model_.model_version);
  std::string opsets;
  for (const OpsetId& opset : model_.opsets) {
    const std::string_view domain = canonical_domain(opset.domain);
    if (!opsets.empty()) opsets += ",";
    opsets +=
        (domain.empty() ? "ai.onnx" : std::string(domain)) + ":" + std::to_string(opset.version);
  }
  put("onnx.opsets", opsets);
  for (const StringEntry& entry : model_.metadata)
    metadata["onnx.metadata." + std::string(entry.key)] = std::string(entry.value);
}

void Importer::report_collected() {
  std::set<std::string> seen;  // many tensors may refer to one missing file
  for (Error& error : lasting_errors_)
    if (seen.insert(error.message()).second) report(std::move(error));
  for (MissingOp& missing : missing_ops_) {
    if (missing.nodes > 1)
      missing.error.diagnostic().notes.push_back(std::to_string(missing.nodes - 1) +
                                                 " more nodes use it");
    report(std::move(missing.error));
  }
}

Result<std::unique_ptr<ec::Graph>> Importer::run() {
  if (Status status = read_model(); !status.ok()) {
    report(std::move(status).error());
    return sink_->first_error();
  }
  const Frame frame = model_frame();
  std::unique_ptr<ec::Graph> graph = import_main(frame);
  report_collected();
  if (Status unchanged = external_.check_unchanged(); !unchanged.ok())
    report(std::move(unchanged).error());
  if (errors_ > 0) return sink_->first_error();
  set_metadata(*graph);
  return graph;
}

Result<ec::Tensor*> Importer::add_constant(Bytes message, ec::Graph& graph, std::string name) {
  EC_TRY(const Tensor tensor, decode_tensor(message));
  EC_TRY(Blob data, tensors_.read(tensor));
  const auto dtype = dtype_from_name(find_data_type(tensor.data_type)->element);
  return graph.add_constant(std::move(name), TensorType(*dtype, Shape::of(tensor.dims)),
                            std::move(data));
}

Result<ec::Tensor*> Importer::add_sparse_constant(Bytes message, ec::Graph& graph,
                                                  std::string name) {
  EC_TRY(const SparseTensor sparse, decode_sparse_tensor(message));
  EC_TRY(Blob data, tensors_.read_dense(sparse));
  const auto dtype = dtype_from_name(find_data_type(sparse.values.data_type)->element);
  return graph.add_constant(std::move(name), TensorType(*dtype, Shape::of(sparse.dims)),
                            std::move(data));
}

}  // namespace ec::onnx

namespace ec {
namespace {

class OnnxFrontend : public Frontend {
 public:
  std::string_view name() const override { return "onnx"; }

  int probe(const ModelSource& source) const override {
    const std::span<const std::byte> bytes = source.outline();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (onnx::looks_like_model(text)) return 90;
    return source.extension() == ".onnx" ? 20 : 0;
  }

 private:
  Result<std::unique_ptr<Graph>> read(const ModelSource& source, const ImportOptions& options,
                                      DiagnosticSink& sink) const override {
    EC_TRY(const Blob bytes, source.bytes());
    return import_onnx(bytes, source.path(), options, sink);
  }
};

}  // namespace

const Frontend& onnx_frontend() {
  static const OnnxFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_onnx(const Blob& file, const std::filesystem::path& path,
                                           const ImportOptions& options, DiagnosticSink& sink) {
  return onnx::Importer(file, path, options, sink).run();
}

}  // namespace ec
