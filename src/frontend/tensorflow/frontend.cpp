// Telling SavedModel folders and GraphDef files, choosing what of them to import.
#include <algorithm>

#include "formats/tensorflow/decode.h"
#include "formats/tensorflow/graph_outline.h"
#include "frontend/tensorflow/checkpoint_variables.h"
#include "frontend/tensorflow/importer.h"
#include "frontend/tensorflow/interface.h"
#include "frontend/tensorflow/tensorflow.h"
#include "frontend/zip_names.h"
#include "support/strings.h"

namespace ec {
namespace {

using namespace tf;

constexpr const char* kModelFile = "saved_model.pb";
constexpr std::string_view kDefaultSignature = "serving_default", kInit = "__saved_model_init_op";

// What a graph needs to be imported, whichever file it comes from.
struct Job {
  FileBytes file;
  size_t model_bytes = 0;
  std::string path, name;
  FunctionLibrary* library = nullptr;
  VariableSource* variables = nullptr;
  KeptOperations* kept = nullptr;
};

Result<std::unique_ptr<Graph>> run(const Job& job, const Interface& interface,
                                   DiagnosticSink& sink) {
  // What the graph assigns is known when it was imported once; then it is state.
  std::set<std::string> states;
  for (int attempt = 0; attempt < 2; ++attempt) {
    DiagnosticSink faults;
    std::optional<KeptOperations> kept;
    if (job.kept != nullptr) kept.emplace(job.kept->scope());
    Importer importer(job.file, job.model_bytes, job.path, *job.library, job.variables, faults,
                      kept ? &*kept : nullptr);
    std::unique_ptr<Graph> graph = importer.run(job.name, interface, states);
    const bool again = graph != nullptr && states.empty() && !importer.assigned().empty();
    if (again) {
      states = importer.assigned();
      continue;
    }
    for (const Diagnostic& d : faults.diagnostics()) sink.report(d);
    if (graph == nullptr) return sink.first_error();
    if (kept) *job.kept = std::move(*kept);
    return graph;
  }
  return Error(Code::Internal, "the import does not settle");
}

template <class T>
Result<T> reported(Result<T> result, const std::string& path, DiagnosticSink& sink) {
  if (result.ok()) return result;
  Error error = std::move(result).error().file(path);
  // Interfaces report their problems themselves.
  const auto& all = sink.diagnostics();
  const bool known = std::any_of(all.begin(), all.end(), [&](const Diagnostic& d) {
    return d.severity == Severity::Error && d.message == error.message();
  });
  if (!known) sink.report(std::move(error));
  return sink.first_error();
}

// --- SavedModel ---------------------------------------------------------------------------------

Result<const MetaGraph*> choose_meta_graph(const std::vector<MetaGraph>& graphs) {
  for (const MetaGraph& meta : graphs)
    if (std::find(meta.tags.begin(), meta.tags.end(), "serve") != meta.tags.end()) return &meta;
  if (!graphs.empty()) return &graphs.front();
  return Error(Code::CorruptFile, "the SavedModel holds no graph").hint("export the model again");
}

std::vector<std::string_view> usable_signatures(const MetaGraph& meta) {
  std::vector<std::string_view> keys;
  for (const Signature& signature : meta.signatures)
    if (signature.key != kInit && !signature.outputs.empty()) keys.push_back(signature.key);
  return keys;
}

std::string listed(const std::vector<std::string_view>& keys) {
  std::string text;
  for (const std::string_view key : keys)
    text += (text.empty() ? "'" : ", '") + printable(key, 100) + "'";
  return text;
}

Result<const Signature*> choose_signature(const MetaGraph& meta, const std::string& wanted) {
  const std::vector<std::string_view> keys = usable_signatures(meta);
  std::string_view key = wanted;
  if (key.empty()) {
    const bool has_default = std::find(keys.begin(), keys.end(), kDefaultSignature) != keys.end();
    if (has_default) {
      key = kDefaultSignature;
    } else if (keys.size() == 1) {
      key = keys[0];
    } else if (keys.empty()) {
      return Error(Code::UnsupportedFormat, "the SavedModel has no signature")
          .hint(
              "save it with signatures: model.export(path), or tf.saved_model.save(model, path, "
              "signatures=model.call.get_concrete_function(...))");
    } else {
      return Error(Code::UnsupportedFormat, "the SavedModel has several signatures and no default")
          .note("signatures: " + listed(keys))
          .hint("choose one with --signature NAME");
    }
  }
  for (const Signature& signature : meta.signatures)
    if (signature.key == key && !signature.outputs.empty()) return &signature;
  return Error(Code::UnknownInput, "the model has no signature '" + printable(key) + "'")
      .note("signatures: " + listed(keys))
      .hint(did_you_mean(key, keys));
}

void set_metadata(Graph& graph, const MetaGraph& meta, const Signature& signature) {
  auto& metadata = graph.metadata();
  metadata["source_format"] = "tensorflow";
  metadata["tensorflow.form"] = "SavedModel";
  if (!meta.version.empty()) metadata["tensorflow.version"] = printable(meta.version, 40);
  metadata["tensorflow.signature"] = printable(signature.key);
  std::string all;
  for (const std::string_view key : usable_signatures(meta))
    all += (all.empty() ? "" : ",") + printable(key, 100);
  metadata["tensorflow.signatures"] = all.substr(0, 1024);
}

Result<std::unique_ptr<Graph>> import_saved_model(const ModelSource& source,
                                                  const ImportOptions& options,
                                                  DiagnosticSink& sink) {
  if (!options.part.inputs.empty() || !options.part.outputs.empty())
    return Error(Code::Usage, "nodes are chosen of frozen graphs alone; this is a SavedModel")
        .hint("choose a signature with --signature NAME; `inspect` lists them");
  EC_TRY(const InputFile opened, source.open_member(kModelFile));
  EC_TRY(const Blob file, read_file(opened));
  wire::Budget budget = wire::Budget::for_file(file.size());
  EC_TRY(const std::vector<MetaGraph> graphs,
         decode_saved_model(text_of_bytes(file.bytes()), budget));
  EC_TRY(const MetaGraph* meta, choose_meta_graph(graphs));
  EC_TRY(const Signature* signature, choose_signature(*meta, options.part.signature));
  EC_TRY(GraphDef graph, decode_graph(meta->graph, budget));
  EC_TRY(FunctionLibrary library, FunctionLibrary::make(std::move(graph), budget));
  EC_TRY(const Interface interface,
         interface_of_signature(*signature, library.main(), options, sink));
  EC_TRY(const auto variables, CheckpointVariables::open(source, *meta, library, budget));
  std::filesystem::path folder = source.path();
  if (!folder.has_filename()) folder = folder.parent_path();
  const Job job{file,          static_cast<size_t>(source.size_bytes()),
                source.name(), folder.filename().string(),
                &library,      variables.get(),
                options.kept};
  EC_TRY(std::unique_ptr<Graph> result, run(job, interface, sink));
  set_metadata(*result, *meta, *signature);
  EC_CHECK_OK(opened.check_unchanged());
  EC_CHECK_OK(variables->check_unchanged());
  return result;
}

// --- GraphDef -----------------------------------------------------------------------------------

Result<std::unique_ptr<Graph>> import_graph(const FileBytes& file, const std::string& path,
                                            const std::string& name, const ImportOptions& options,
                                            DiagnosticSink& sink) {
  if (!options.part.signature.empty())
    return Error(Code::Usage, "a frozen graph has no signatures")
        .hint("choose nodes with --graph-input and --graph-output");
  EC_CHECK_OK(read_graph_outline(file));
  wire::Budget budget = wire::Budget::for_file(file.size());
  EC_TRY(GraphDef graph, decode_graph(text_of_bytes(file.span()), budget));
  EC_TRY(FunctionLibrary library, FunctionLibrary::make(std::move(graph), budget));
  EC_TRY(const Interface interface, interface_of_graph(library.main(), options, sink));
  const Job job{file, file.size(), path, name, &library, nullptr, options.kept};
  EC_TRY(std::unique_ptr<Graph> result, run(job, interface, sink));
  result->metadata()["source_format"] = "tensorflow";
  result->metadata()["tensorflow.form"] = "GraphDef";
  return result;
}

class TensorflowFrontend : public Frontend {
 public:
  std::string_view name() const override { return "tensorflow"; }
  bool has_parts() const override { return true; }

  int probe(const ModelSource& source) const override {
    if (source.is_directory()) return source.has_member(kModelFile) ? 95 : 0;
    if (looks_like_graph(text_of_bytes(source.outline()).substr(0, 4096))) return 80;
    return source.extension() == ".pb" ? 20 : 0;
  }

  std::optional<DetectedFormat> explain(const ModelSource& source) const override {
    if (std::filesystem::path(source.name()).filename() == kModelFile)
      return DetectedFormat{"the graph of a TensorFlow SavedModel",
                            "give the folder that it lies in"};
    if (source.is_directory() && source.has_member("variables/variables.index"))
      return DetectedFormat{"a SavedModel without saved_model.pb", "copy the whole folder"};
    if (source.is_directory() && source.has_member("checkpoint"))
      return DetectedFormat{"a TensorFlow checkpoint: weights without a graph",
                            "export the model: model.export(path) or tf.saved_model.save"};
    return std::nullopt;
  }

 private:
  Result<std::unique_ptr<Graph>> read(const ModelSource& source, const ImportOptions& options,
                                      DiagnosticSink& sink) const override {
    if (source.is_directory())
      return reported(import_saved_model(source, options, sink), source.name(), sink);
    return reported(import_graph(source.content(), source.name(), source.stem(), options, sink),
                    source.name(), sink);
  }
};

}  // namespace

const Frontend& tensorflow_frontend() {
  static const TensorflowFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_graph_def(const Blob& file, const std::filesystem::path& path,
                                                const ImportOptions& options,
                                                DiagnosticSink& sink) {
  return reported(import_graph(file, path.string(), path.stem().string(), options, sink),
                  path.string(), sink);
}

}  // namespace ec
