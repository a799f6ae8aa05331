// The Coral target as seen from the driver: placement of a model on the Edge TPU.
#pragma once

#include <filesystem>

#include "driver/check.h"
#include "support/blob.h"

namespace ec {

// Adds a row per operator of a TFLite file, the estimate and what cut the graph.
Status place_on_coral(const Blob& file, const CompileOptions& options, CheckReport& report,
                      DiagnosticSink& sink);
Status check_coral(const std::filesystem::path& path, const CompileOptions& options,
                   CheckReport& report, DiagnosticSink& sink);

}  // namespace ec
