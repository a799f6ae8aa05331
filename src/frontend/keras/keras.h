// The front end for Keras models: `.h5` of Keras 2 and 3, `.keras` of Keras 3 and of 2.12 to 2.15.
#pragma once

#include "frontend/frontend.h"

namespace ec {

const Frontend& keras_frontend();

// Reads a model from bytes, as the front end does; for tests and fuzzing.
Result<std::unique_ptr<Graph>> import_keras(const FileBytes& file, const std::string& name,
                                            const ImportOptions& options, DiagnosticSink& sink);

}  // namespace ec
