#include "frontend/frontend.h"

namespace ec {

std::optional<DetectedFormat> Frontend::explain(const ModelSource&) const { return std::nullopt; }

Result<std::unique_ptr<Graph>> Frontend::import_file(const std::filesystem::path& path,
                                                     const ImportOptions& options,
                                                     DiagnosticSink& sink) const {
  Result<ModelSource> source = ModelSource::open(path);
  if (!source.ok()) {
    sink.report(std::move(source).error());
    return sink.first_error();
  }
  return import(*source, options, sink);
}

}  // namespace ec
