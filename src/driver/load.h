// Model file to graph: tells the format by content and asks the front end that reads it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "edgecompiler/options.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec {

struct LoadedModel {
  std::unique_ptr<Graph> graph;
  std::string format;  // "onnx", "ecir"
  int64_t file_bytes = 0;
};

// Reads the file and fixes the sizes that the options give (input_shapes, dims). All problems go to
// the sink; the returned error is the first of them.
Result<LoadedModel> load_model(const std::filesystem::path& path, const CompileOptions& options,
                               DiagnosticSink& sink);

}  // namespace ec
