// The TorchScript front end: archives of torch.jit.save, traced, scripted or frozen.
#pragma once

#include "frontend/frontend.h"
#include "support/blob.h"

namespace ec {

const Frontend& torchscript_frontend();

// For tests and fuzzing: `path` is for messages.
Result<std::unique_ptr<Graph>> import_torchscript(const Blob& file,
                                                  const std::filesystem::path& path,
                                                  const ImportOptions& options,
                                                  DiagnosticSink& sink);

}  // namespace ec
