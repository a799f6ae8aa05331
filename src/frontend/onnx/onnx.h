// The ONNX front end: ModelProto to graph. Opsets 1 to 28 of ai.onnx, model-local functions,
// external data, nested graphs, quantised forms, and the operators of com.microsoft that exporters
// and quantisation tools write.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "frontend/frontend.h"
#include "support/blob.h"

namespace ec {

// The newest version of the ai.onnx operator set that the importer knows.
inline constexpr int64_t kNewestOnnxOpset = 28;

const Frontend& onnx_frontend();

// Imports a model that is already in memory; `path` names it in messages and anchors references to
// external data.
Result<std::unique_ptr<Graph>> import_onnx(const Blob& file, const std::filesystem::path& path,
                                           const ImportOptions& options, DiagnosticSink& sink);

// One line of the importer's table, for documentation and coverage reports.
struct OnnxOperator {
  std::string_view domain, name;
  int64_t since, until;  // opset versions; until is inclusive, INT64_MAX: still current
};
std::vector<OnnxOperator> onnx_operators();

}  // namespace ec
