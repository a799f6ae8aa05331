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
  return import_bytes(*file, path, options, sink);
}

}  // namespace ec
