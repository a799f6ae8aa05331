#include "driver/load.h"

#include <fmt/format.h>

#include "driver/specialize.h"
#include "ir/text.h"
#include "support/file.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

// Reports an error that has not been reported yet, with the file's name on it.
Error reported(Error error, const fs::path& path, DiagnosticSink& sink) {
  error = std::move(error).file(path.string());
  if (!sink.has_errors()) sink.report(error.diagnostic());
  return error;
}

Result<LoadedModel> read_by_content(const fs::path& path, const Blob& file) {
  if (looks_like_ecir(file.bytes())) {
    EC_TRY(std::unique_ptr<Graph> graph, load_ecir(path));
    return LoadedModel{std::move(graph), "ecir", static_cast<int64_t>(file.size())};
  }
  return Error(Code::UnknownFormat, "the content matches no model format")
      .hint("supported formats: ecir");
}

}  // namespace

Result<LoadedModel> load_model(const fs::path& path, const CompileOptions& options,
                               DiagnosticSink& sink) {
  Result<Blob> file = map_file(path);
  if (!file) return reported(std::move(file).error(), path, sink);
  Result<LoadedModel> model = read_by_content(path, *file);
  if (!model) return reported(std::move(model).error(), path, sink);
  Status status = specialize(*model->graph, options, sink);
  if (!status.ok()) return reported(std::move(status).error(), path, sink);
  return model;
}

}  // namespace ec
