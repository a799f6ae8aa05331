// The TFLite front end: a checked file to a graph. Layout stays NHWC, quantisation stays as it is
// in the file.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "frontend/frontend.h"
#include "support/blob.h"

namespace ec {

const Frontend& tflite_frontend();

// Imports a model that is already in memory; `path` names it in messages.
Result<std::unique_ptr<Graph>> import_tflite(const Blob& file, const std::filesystem::path& path,
                                             const ImportOptions& options, DiagnosticSink& sink);

// The builtin operators that the importer converts, in order of their codes.
std::vector<std::string_view> tflite_operators();

}  // namespace ec
