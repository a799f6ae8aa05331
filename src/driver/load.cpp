#include "driver/load.h"

#include <fmt/format.h>

#include "driver/specialize.h"
#include "frontend/detect.h"
#include "frontend/onnx/onnx.h"
#include "frontend/tflite/tflite.h"
#include "frontend/torch/export/export.h"
#include "frontend/torch/script/script.h"
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

// The front ends of this build.
const Frontend* const kFrontends[] = {&onnx_frontend(), &tflite_frontend(), &torchscript_frontend(),
                                      &torch_export_frontend()};

Result<LoadedModel> read_by_content(const fs::path& path, const Blob& file,
                                    const CompileOptions& options, DiagnosticSink& sink) {
  const auto bytes = static_cast<int64_t>(file.size());
  if (looks_like_ecir(file.bytes())) {
    EC_TRY(std::unique_ptr<Graph> graph, load_ecir(path));
    EC_CHECK_OK(specialize(*graph, options, sink));
    return LoadedModel{std::move(graph), "ecir", bytes};
  }
  EC_TRY(const Frontend* frontend, choose_frontend(kFrontends, path));
  EC_TRY(std::unique_ptr<Graph> graph,
         frontend->import(path, {options.input_shapes, options.dims}, sink));
  return LoadedModel{std::move(graph), std::string(frontend->name()), bytes};
}

}  // namespace

Result<LoadedModel> load_model(const fs::path& path, const CompileOptions& options,
                               DiagnosticSink& sink) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    // Some formats are directories; the front ends' errors tell them apart.
    Result<const Frontend*> frontend = choose_frontend(kFrontends, path);
    if (!frontend) return reported(std::move(frontend).error(), path, sink);
  }
  Result<Blob> file = map_file(path);
  if (!file) return reported(std::move(file).error(), path, sink);
  Result<LoadedModel> model = read_by_content(path, *file, options, sink);
  if (!model) return reported(std::move(model).error(), path, sink);
  return model;
}

}  // namespace ec
