#include "frontend/frontend.h"

#include "support/file.h"

namespace ec {

Result<std::unique_ptr<Graph>> Frontend::import(const std::filesystem::path& path,
                                                const ImportOptions& options,
                                                DiagnosticSink& sink) const {
  Result<Blob> file = map_file(path);
  if (!file.ok()) {
    sink.report(std::move(file).error());
    return sink.first_error();
  }
  EC_TRY(std::unique_ptr<Graph> graph, import_bytes(*file, path, options, sink));
  const size_t before = sink.error_count();
  bind_input_values(*graph, options.input_values, sink);
  if (sink.error_count() == before) return graph;
  return sink.first_error();
}

}  // namespace ec
