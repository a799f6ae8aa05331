// Telling packages and model files, reading their parts, choosing a function.
#include <map>

#include "formats/coreml/package.h"
#include "frontend/coreml/coreml.h"
#include "frontend/coreml/importer.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr std::string_view kModelPrefix = "@model_path/";

// Why a model that is no ML Program is not read, and what to do instead.
Error refuse_kind(const std::string& kind) {
  Error error(Code::UnsupportedFormat,
              "this Core ML model is of the kind '" + printable(kind, 60) + "', not an ML Program");
  if (kind.starts_with("neuralNetwork"))
    return std::move(error).hint(
        "convert the original with coremltools.convert(..., convert_to=\"mlprogram\"), or give the "
        "original itself");
  if (kind.starts_with("pipeline"))
    return std::move(error).hint("give the models of the pipeline one by one");
  return std::move(error).hint("only ML Programs hold a network; give the original model");
}

// A folder with a manifest that names a model; other kinds of folders have manifests as well.
bool is_package(const ModelSource& source) {
  if (!source.has_member(coreml::kManifestPath)) return false;
  if (source.has_member(coreml::kModelPath) || source.extension() == ".mlpackage") return true;
  const auto manifest = source.member(coreml::kManifestPath);
  return manifest.ok() && coreml::model_path_of(*manifest).ok();
}

// A file of a package.
Result<Blob> part_of(const ModelSource& source, const std::string& path) {
  Result<Blob> part = source.member(path);
  if (part.ok()) return part;
  return std::move(part).error().hint("copy the whole package again");
}

// The weight files of a package, each opened once. Names begin where the model lies.
class WeightFiles {
 public:
  WeightFiles(const ModelSource& source, const std::string& model_path)
      : source_(source), folder_(model_path.substr(0, model_path.rfind('/') + 1)) {}

  Result<Blob> open(const std::string& name) {
    if (const auto known = files_.find(name); known != files_.end()) return known->second;
    if (!name.starts_with(kModelPrefix) || name.find("..") != std::string::npos)
      return Error(Code::ExternalDataInvalid,
                   "weights are kept in '" + printable(name, 200) + "', outside the package")
          .hint("export or copy the whole package again");
    EC_TRY(const Blob file, part_of(source_, folder_ + name.substr(kModelPrefix.size())));
    return files_.emplace(name, file).first->second;
  }

 private:
  const ModelSource& source_;
  const std::string folder_;
  std::map<std::string, Blob> files_;
};

Result<coreml::Model> read_package(const ModelSource& source) {
  EC_TRY(const Blob manifest, part_of(source, std::string(coreml::kManifestPath)));
  EC_TRY(const std::string path, coreml::model_path_of(manifest));
  EC_TRY(const Blob bytes, part_of(source, path));
  EC_TRY(coreml::Model model, coreml::decode_model(bytes));
  WeightFiles weights(source, path);
  EC_CHECK_OK(
      coreml::resolve_weights(model, [&](const std::string& name) { return weights.open(name); }));
  return model;
}

Result<coreml::Model> read_file_model(const ModelSource& source) {
  EC_TRY(const Blob bytes, source.bytes());
  EC_TRY(coreml::Model model, coreml::decode_model(bytes));
  EC_CHECK_OK(coreml::resolve_weights(model, [](const std::string& name) -> Result<Blob> {
    return Error(Code::ExternalDataMissing,
                 "the weights are in another file, '" + printable(name, 200) + "'")
        .hint("give the whole .mlpackage folder");
  }));
  return model;
}

std::string listed(const coreml::Program& program) {
  std::string text;
  for (const auto& [name, function] : program.functions)
    text += (text.empty() ? "'" : ", '") + printable(name, 100) + "'";
  return text;
}

// The function that is asked for, or the default one.
Result<const std::string*> choose_function(const coreml::Model& model, const std::string& wanted) {
  const auto& functions = model.program->functions;
  const std::string name = !wanted.empty()                   ? wanted
                           : !model.default_function.empty() ? model.default_function
                                                             : "main";
  if (const auto found = functions.find(name); found != functions.end()) return &found->first;
  if (wanted.empty() && functions.size() == 1) return &functions.begin()->first;
  if (functions.empty())
    return Error(Code::CorruptFile, "the program has no functions").hint("export the model again");
  return Error(wanted.empty() ? Code::UnsupportedFormat : Code::UnknownInput,
               wanted.empty() ? "the program has several functions and no default"
                              : "the program has no function '" + printable(name) + "'")
      .note("functions: " + listed(*model.program))
      .hint("choose one with --signature NAME");
}

Result<std::unique_ptr<Graph>> import_model(const coreml::Model& model, const std::string& name,
                                            size_t bytes, const ImportOptions& options,
                                            DiagnosticSink& sink) {
  if (!options.part.inputs.empty() || !options.part.outputs.empty())
    return Error(Code::Usage, "nodes are chosen of frozen graphs alone; this is a Core ML model")
        .hint("choose a function with --signature NAME");
  if (!model.program) return refuse_kind(model.other_kind);
  if (model.program->version != 1)
    return Error(Code::UnsupportedFormat, "ML Programs of version " +
                                              std::to_string(model.program->version) +
                                              " are not known")
        .hint("version 1 is read");
  EC_TRY(const std::string* function, choose_function(model, options.part.signature));
  const auto described = model.functions.find(*function);
  const coreml::Interface& interface =
      described != model.functions.end() ? described->second : model.interface;
  return mil::Importer(model, name, bytes, options, sink)
      .run(*function, model.program->functions.at(*function), interface);
}

// Problems of the model as a whole are told here; those of operations were told already.
Result<std::unique_ptr<Graph>> reported(Result<std::unique_ptr<Graph>> result,
                                        const std::string& name, DiagnosticSink& sink) {
  if (result.ok() || sink.has_errors()) return result;
  sink.report(std::move(result).error().file(name));
  return sink.first_error();
}

class CoremlFrontend : public Frontend {
 public:
  std::string_view name() const override { return "coreml"; }
  bool has_parts() const override { return true; }

  int probe(const ModelSource& source) const override {
    if (source.is_directory()) return is_package(source) ? 95 : 0;
    if (coreml::looks_like_model(source.outline())) return 95;
    return source.extension() == ".mlmodel" ? 20 : 0;
  }

  std::optional<DetectedFormat> explain(const ModelSource& source) const override {
    if (source.is_directory() && source.has_member("coremldata.bin"))
      return DetectedFormat{"a compiled Core ML model (.mlmodelc)",
                            "give the .mlpackage that it was compiled from"};
    if (source.is_directory() && source.has_member(coreml::kModelPath))
      return DetectedFormat{"a Core ML package without Manifest.json", "copy the whole package"};
    return std::nullopt;
  }

 private:
  Result<std::unique_ptr<Graph>> read(const ModelSource& source, const ImportOptions& options,
                                      DiagnosticSink& sink) const override {
    Result<coreml::Model> model =
        source.is_directory() ? read_package(source) : read_file_model(source);
    const auto bytes = static_cast<size_t>(std::max<int64_t>(source.size_bytes(), 0));
    if (!model.ok()) return reported(std::move(model).error(), source.name(), sink);
    auto graph =
        reported(import_model(*model, source.name(), bytes, options, sink), source.name(), sink);
    if (graph.ok()) (*graph)->set_name(source.stem());
    return graph;
  }
};

}  // namespace

const Frontend& coreml_frontend() {
  static const CoremlFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_coreml(const coreml::Model& model, const std::string& name,
                                             size_t bytes, const ImportOptions& options,
                                             DiagnosticSink& sink) {
  return reported(import_model(model, name, bytes, options, sink), name, sink);
}

}  // namespace ec
