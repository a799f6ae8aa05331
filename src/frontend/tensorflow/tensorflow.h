// The TensorFlow front end: SavedModel folders and frozen GraphDef files to a graph. Layout stays
// as the model has it (NHWC by habit), layers keep their names.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "frontend/frontend.h"
#include "support/blob.h"

namespace ec {

const Frontend& tensorflow_frontend();

// Imports a frozen graph that is already in memory; `path` names it in messages.
Result<std::unique_ptr<Graph>> import_graph_def(const Blob& file, const std::filesystem::path& path,
                                                const ImportOptions& options, DiagnosticSink& sink);

// The operators that the importer converts, by name.
std::vector<std::string_view> tensorflow_operators();

}  // namespace ec
