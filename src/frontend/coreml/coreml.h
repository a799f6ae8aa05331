// Core ML models with an ML Program: `.mlpackage` folders and `.mlmodel` files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/coreml/model.h"
#include "frontend/frontend.h"

namespace ec {

const Frontend& coreml_frontend();

// A model in memory whose weights were resolved. `bytes` is the size of the files that it comes
// from, which bounds what it may become.
Result<std::unique_ptr<Graph>> import_coreml(const coreml::Model& model, const std::string& name,
                                             size_t bytes, const ImportOptions& options,
                                             DiagnosticSink& sink);

// The operators of ML Programs that are read, by name.
std::vector<std::string_view> coreml_operators();

}  // namespace ec
