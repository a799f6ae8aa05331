#include "frontend/tflite/importer.h"

#include "formats/tflite/metadata_keys.h"
#include "formats/tflite/operators.h"
#include "frontend/tflite/limits.h"
#include "frontend/tflite/tflite.h"
#include "ir/base64.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::tflite {
namespace {

// What to do, for problems whose own message leaves it open.
std::string_view usual_hint(Code code) {
  switch (code) {
    case Code::BadAttribute:
    case Code::BadArity:
    case Code::BadValue:
    case Code::CorruptFile:
    case Code::BadTensorData:
      return "the file is damaged or its converter wrote an operator that LiteRT would refuse, "
             "too: "
             "convert the model again";
    case Code::ShapeMismatch:
      return "check the shapes of the operator's inputs; if they follow from --input-shape, try "
             "other sizes";
    case Code::TypeMismatch:
    case Code::UnsupportedType:
      return "only tensors of numbers and booleans are supported";
    case Code::UnsupportedOpForm:
      return "convert the model with other options, or report the form that you need";
    case Code::TooLarge:
    case Code::TooDeep:
      return "no converter writes such files: convert the model again";
    case Code::DynamicShape:
      return "give the shapes of the model's inputs with --input-shape";
    default:
      return {};
  }
}

}  // namespace

std::string source_name(const Tensor& tensor) {
  return std::string(text_of(tensor.name()).substr(0, kMaxNameLength));
}

Importer::Importer(const Blob& file, const std::filesystem::path& path,
                   const ImportOptions& options, DiagnosticSink& sink)
    : blob_(file), path_(path), options_(options), sink_(sink) {}

Error Importer::explained(Error error) const {
  const Code code = error.code();
  return std::move(error).file(path_.string()).hint(std::string(usual_hint(code)));
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

void Importer::warn_of_state(const std::string& what, const Location& location) {
  if (!warned_once_.insert("state").second) return;
  Diagnostic d(Code::UnsupportedOpForm,
               what +
                   " starts from its first value in every run; LiteRT keeps it from one run to "
                   "the next");
  d.severity = Severity::Warning;
  d.file = path_.string();
  d.node = std::string(location.name());
  d.op_type = location.op_type;
  d.hint = "results are those of LiteRT after reset_all_variables()";
  sink_.report(std::move(d));
}

bool Importer::may_copy(size_t bytes) {
  const size_t limit = max_copied_bytes(blob_.size());
  if (bytes > limit || copied_bytes_ > limit - bytes) return false;
  copied_bytes_ += bytes;
  return true;
}

void Importer::report_missing() {
  for (MissingOp& missing : missing_ops_) {
    if (missing.nodes > 1)
      missing.error.diagnostic().notes.push_back(std::to_string(missing.nodes - 1) +
                                                 " more operators of this kind");
    report(std::move(missing.error));
  }
}

void Importer::set_metadata(ec::Graph& graph) const {
  const Model& model = file_->model();
  auto& metadata = graph.metadata();
  metadata["source_format"] = "tflite";
  const auto put = [&](std::string key, std::string_view value) {
    if (!value.empty()) metadata[std::move(key)] = std::string(value.substr(0, kMaxNameLength));
  };
  put(std::string(kTfliteDescription), text_of(model.description()));
  if (file_->num_subgraphs() > 1)
    metadata["tflite.subgraphs"] = std::to_string(file_->num_subgraphs());
  std::string signatures;
  for (uint32_t i = 0; i < size_of(model.signature_defs()); ++i)
    signatures +=
        (i > 0 ? "," : "") + std::string(text_of(model.signature_defs()->Get(i)->signature_key()));
  put("tflite.signatures", signatures);
  for (uint32_t i = 0; i < size_of(model.metadata()) && i < 1000; ++i) {
    const Metadata& entry = *model.metadata()->Get(i);
    const Blob data = file_->buffer_data(entry.buffer());
    std::string_view text(reinterpret_cast<const char*>(data.bytes().data()), data.size());
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    const bool printable_text =
        text.size() <= kMaxNameLength && std::all_of(text.begin(), text.end(), [](char c) {
          return static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t';
        });
    // Anything else is kept for the writer, coded.
    constexpr size_t kMaxKept = size_t{1} << 20;
    std::string value(text);
    if (!printable_text)
      value = data.size() <= kMaxKept ? std::string(kBase64Prefix) + base64_encode(data.bytes())
                                      : std::to_string(data.size()) + " bytes";
    metadata[std::string(kTfliteMetadata) + std::string(text_of(entry.name()).substr(0, 200))] =
        std::move(value);
  }
}

Result<std::unique_ptr<ec::Graph>> Importer::run() {
  DiagnosticSink faults;
  Result<ModelFile> opened = ModelFile::open(blob_, faults);
  for (const Diagnostic& d : faults.diagnostics()) {
    Diagnostic copy = d;
    copy.file = path_.string();
    sink_.report(std::move(copy));
  }
  if (!opened.ok()) return sink_.first_error();
  file_.emplace(std::move(*opened));
  std::unique_ptr<ec::Graph> graph = import_main();
  report_missing();
  if (errors_ > 0) return sink_.first_error();
  set_metadata(*graph);
  return graph;
}

}  // namespace ec::tflite

namespace ec {
namespace {

class TfliteFrontend : public Frontend {
 public:
  std::string_view name() const override { return "tflite"; }

  std::optional<DetectedFormat> explain(const ModelSource& source) const override {
    const auto bytes = source.outline();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.size() < 8 || text.substr(4, 4) != "TFL3") return std::nullopt;
    return DetectedFormat{"a TFLite model", "copy or convert the file again: it is cut off"};
  }
  int probe(const ModelSource& source) const override {
    if (tflite::ModelFile::looks_like(source.outline())) return 95;
    return source.extension() == ".tflite" ? 20 : 0;
  }

 private:
  Result<std::unique_ptr<Graph>> read(const ModelSource& source, const ImportOptions& options,
                                      DiagnosticSink& sink) const override {
    EC_TRY(const Blob bytes, source.bytes());
    return import_tflite(bytes, source.path(), options, sink);
  }
};

}  // namespace

const Frontend& tflite_frontend() {
  static const TfliteFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_tflite(const Blob& file, const std::filesystem::path& path,
                                             const ImportOptions& options, DiagnosticSink& sink) {
  return tflite::Importer(file, path, options, sink).run();
}

}  // namespace ec
