// Graph to ONNX file. Ops that ONNX lacks are written as the nodes they stand for; what cannot be
// expressed at all is an ExportFailed error, never left out. The same graph gives the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "formats/onnx/encode.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec {

struct OnnxWriteOptions {
  // Weights beyond this many bytes go to a second file, NAME.onnx.data: a protobuf message cannot
  // exceed 2 GB.
  uint64_t inline_limit = uint64_t{1536} << 20;
};

// Both files appear whole, or none does.
Status write_onnx(const Graph& graph, const std::filesystem::path& path,
                  const OnnxWriteOptions& options = {});

// The lowest version of the operator set, 21 at least, that has all that the graph needs.
int64_t needed_onnx_opset(const Graph& graph);

}  // namespace ec
