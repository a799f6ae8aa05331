// Graph to ONNX file. Ops that ONNX lacks are written as the nodes they stand for; what cannot be
// expressed at all is an ExportFailed error, never left out. The same graph gives the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/onnx/encode.h"
#include "ir/graph.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec {

struct OnnxWriteOptions {
  // Weights beyond this many bytes go to a second file, NAME.onnx.data: a protobuf message cannot
  // exceed 2 GB.
  uint64_t inline_limit = uint64_t{1536} << 20;
};

// The bytes of the files, in parts that follow each other.
struct OnnxFiles {
  std::vector<Blob> model;
  std::vector<Blob> data;  // of the second file; empty: there is none
};
Result<OnnxFiles> encode_onnx(const Graph& graph, const std::string& data_name,
                              const OnnxWriteOptions& options = {});

// Both files appear whole, or none does.
Status write_onnx(const Graph& graph, const std::filesystem::path& path,
                  const OnnxWriteOptions& options = {});

// The lowest version of the operator set, 21 at least, that has all that the graph needs.
int64_t needed_onnx_opset(const Graph& graph);

}  // namespace ec
