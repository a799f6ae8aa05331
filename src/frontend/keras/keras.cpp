#include "frontend/keras/keras.h"

#include "formats/hdf5/hdf5.h"
#include "formats/zip/zip.h"
#include "frontend/keras/importer.h"
#include "frontend/zip_names.h"
#include "support/strings.h"

namespace ec {
namespace keras {
namespace {

constexpr std::string_view kConfig = "config.json", kWeights = "model.weights.h5",
                           kMetadata = "metadata.json";

std::string_view text_of(const Blob& blob) { return text_of_bytes(blob.bytes()); }

Error lacks(std::string_view entry) {
  return Error(Code::CorruptFile, "the archive has no " + std::string(entry))
      .hint("save the model again with model.save(\"model.keras\")");
}

Result<std::unique_ptr<ec::Graph>> import_h5(const FileBytes& bytes, const std::string& name,
                                             const ImportOptions& options, DiagnosticSink& sink) {
  EC_TRY(hdf5::File opened, hdf5::File::open(bytes));
  auto file = std::make_shared<const hdf5::File>(std::move(opened));
  EC_TRY(const auto text, file->text_attribute(file->root(), "model_config"));
  if (!text) return Error(Code::UnsupportedFormat, "the HDF5 file has no model_config");
  EC_TRY(const Value config, parse_json(*text));
  EC_TRY(Weights weights, Weights::of_h5(file));
  EC_TRY(auto version, file->text_attribute(file->root(), "keras_version"));
  if (!version) {
    EC_TRY(const auto group, file->find(file->root(), "model_weights"));
    if (group) {
      EC_TRY(version, file->text_attribute(*group, "keras_version"));
    }
  }
  // Files of tf.keras say "2.4.0"; those without a version are older still.
  return Importer(name, bytes.size(), options, sink)
      .run(read_layer(config), weights, version.value_or("2.0"));
}

// The parts of a `.keras` model, from an archive or a folder.
Result<std::unique_ptr<ec::Graph>> import_parts(const Blob& config_json,
                                                const FileBytes& weights_h5,
                                                const Blob& metadata_json, const std::string& name,
                                                const ImportOptions& options,
                                                DiagnosticSink& sink) {
  EC_TRY(const Value config, parse_json(text_of(config_json)));
  EC_TRY(hdf5::File opened, hdf5::File::open(weights_h5));
  auto file = std::make_shared<const hdf5::File>(std::move(opened));
  std::string version;
  if (!metadata_json.empty()) {
    EC_TRY(const Value metadata, parse_json(text_of(metadata_json)));
    version = metadata["keras_version"].as_text();
  }
  return Importer(name, weights_h5.size(), options, sink)
      .run(read_layer(config), Weights::of_archive(std::move(file)), std::move(version));
}

// Stored weights are read in parts. Their checksum takes all of their bytes: it is left to those
// who need the weights.
Result<FileBytes> weights_in(const zip::Archive& archive, const ImportOptions& options) {
  const zip::Entry* entry = archive.find(kWeights);
  if (entry == nullptr) return lacks(kWeights);
  EC_TRY(std::optional<FileBytes> stored, archive.part(*entry));
  if (!stored) {
    EC_TRY(Blob unpacked, archive.read(*entry));
    return FileBytes(std::move(unpacked));
  }
  if (!options.leave_weights || stored->in_memory()) EC_CHECK_OK(archive.verify(*entry));
  return std::move(*stored);
}

Result<std::unique_ptr<ec::Graph>> import_archive(const FileBytes& bytes, const std::string& name,
                                                  const ImportOptions& options,
                                                  DiagnosticSink& sink) {
  EC_TRY(const zip::Archive archive, zip::Archive::open(bytes));
  const auto read = [&](std::string_view entry, bool needed) -> Result<Blob> {
    const zip::Entry* found = archive.find(entry);
    if (found != nullptr) return archive.read(*found);
    if (!needed) return Blob();
    return lacks(entry);
  };
  EC_TRY(const Blob config, read(kConfig, true));
  EC_TRY(const FileBytes weights, weights_in(archive, options));
  EC_TRY(const Blob metadata, read(kMetadata, false));
  return import_parts(config, weights, metadata, name, options, sink);
}

bool has_archive_names(std::string_view content) {
  if (!content.starts_with(kZipStart)) return false;
  const ZipNames names(content);
  return names.any(kWeights) && names.any(kConfig);
}

// Weights alone, in a file that Keras wrote for another program to load them into.
std::optional<DetectedFormat> explain_weights(const ModelSource& source) {
  const std::string file =
      "\"" + printable(std::filesystem::path(source.name()).filename().string()) + "\"";
  return DetectedFormat{"a file of Keras weights (save_weights), without the model",
                        "it holds only weights, no layers; in Python:\n"
                        "      model = build_model()  # the code that made the model\n"
                        "      model.load_weights(" +
                            file +
                            ")\n"
                            "      model.save(\"model.keras\")"};
}

std::optional<DetectedFormat> explain_h5(const ModelSource& source) {
  auto opened = hdf5::File::open(source.content());
  if (!opened.ok())
    return DetectedFormat{"an HDF5 file that cannot be read (" + opened.error().message() + ")",
                          opened.error().diagnostic().hint};
  const hdf5::File& file = *opened;
  const auto has = [&](std::string_view name) {
    const auto found = file.find(file.root(), name);
    return found.ok() && *found;
  };
  const auto names = file.texts_attribute(file.root(), "layer_names");
  if (has("layers") || has("_layer_checkpoint_dependencies") || has("vars") ||
      has("top_level_model_weights") || (names.ok() && *names) || has("model_weights"))
    return explain_weights(source);
  return DetectedFormat{"an HDF5 file without a Keras model",
                        "give a model that was saved with model.save(\"model.keras\")"};
}

bool is_h5(const FileBytes& bytes) {
  return text_of_bytes(bytes.span()).starts_with(hdf5::kSignature);
}

bool has_model(const FileBytes& bytes) {
  auto opened = hdf5::File::open(bytes);
  if (!opened.ok()) return false;  // explain() tells what is wrong
  const auto config = opened->attribute(opened->root(), "model_config");
  return !config.ok() || config->has_value();
}

class KerasFrontend : public Frontend {
 public:
  std::string_view name() const override { return "keras"; }

  int probe(const ModelSource& source) const override {
    if (source.is_directory())
      return source.has_member(kConfig) && source.has_member(kWeights) ? 95 : 0;
    if (is_h5(source.content())) return has_model(source.content()) ? 95 : 0;
    if (has_archive_names(text_of_bytes(source.outline()))) return 95;
    return source.extension() == ".keras" ? 20 : 0;
  }

  std::optional<DetectedFormat> explain(const ModelSource& source) const override {
    if (!source.is_directory() && is_h5(source.content())) return explain_h5(source);
    return std::nullopt;
  }

 private:
  Result<std::unique_ptr<ec::Graph>> read(const ModelSource& source, const ImportOptions& options,
                                          DiagnosticSink& sink) const override {
    if (!source.is_directory()) return import_keras(source.content(), source.name(), options, sink);
    auto imported = [&]() -> Result<std::unique_ptr<ec::Graph>> {
      EC_TRY(const Blob config, source.member(kConfig));
      EC_TRY(const Blob weights, source.member(kWeights));
      Blob metadata;
      if (source.has_member(kMetadata)) {
        EC_TRY(metadata, source.member(kMetadata));
      }
      return import_parts(config, weights, metadata, source.name(), options, sink);
    }();
    if (!imported.ok() && !sink.has_errors()) {
      sink.report(std::move(imported).error().file(source.name()));
      return sink.first_error();
    }
    return imported;
  }
};

}  // namespace
}  // namespace keras

const Frontend& keras_frontend() {
  static const keras::KerasFrontend kFrontend;
  return kFrontend;
}

Result<std::unique_ptr<Graph>> import_keras(const FileBytes& file, const std::string& name,
                                            const ImportOptions& options, DiagnosticSink& sink) {
  auto imported = keras::is_h5(file) ? keras::import_h5(file, name, options, sink)
                                     : keras::import_archive(file, name, options, sink);
  if (!imported.ok() && !sink.has_errors()) {
    sink.report(std::move(imported).error().file(name));
    return sink.first_error();
  }
  return imported;
}

}  // namespace ec
