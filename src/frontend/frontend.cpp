#include "frontend/frontend.h"

#include "ops/border.h"

namespace ec {

std::optional<DetectedFormat> Frontend::explain(const ModelSource&) const { return std::nullopt; }

Result<std::unique_ptr<Graph>> Frontend::import(const ModelSource& source,
                                                const ImportOptions& options,
                                                DiagnosticSink& sink) const {
  EC_TRY(std::unique_ptr<Graph> graph, read(source, options, sink));
  const size_t before = sink.error_count();
  bind_input_values(*graph, options.input_values, sink);
  if (sink.error_count() > before) return sink.first_error();
  normalise_attributes(*graph);
  return graph;
}

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
