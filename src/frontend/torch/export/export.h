// The front end for torch.export archives (.pt2).
#pragma once

#include "frontend/frontend.h"
#include "support/blob.h"

namespace ec {

const Frontend& torch_export_frontend();

Result<std::unique_ptr<Graph>> import_torch_export(const Blob& file,
                                                   const std::filesystem::path& path,
                                                   const ImportOptions& options,
                                                   DiagnosticSink& sink);

}  // namespace ec
