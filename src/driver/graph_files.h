// Files that hold a graph for any target: what `optimize` and `quantize` write.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec {

struct GraphFormat {
  std::string_view extension;
  // Quantised graphs are written as floats between quantize-dequantize pairs, not as integers.
  bool simulates_integers;
  // Inputs and outputs keep the order of dimensions that the model gives them.
  bool keeps_interface;
  // Passes that bring a quantised graph into the format's form; empty: none.
  std::string_view quantized_pipeline;
  Result<std::vector<ArtifactFile>> (*encode)(const Graph& graph,
                                              const std::filesystem::path& path);
};

// The format that the extension names. Usage lists those that can be written.
Result<const GraphFormat*> find_graph_format(const std::filesystem::path& path);
// Writes the graph in that format; all files or none.
Status save_graph(const Graph& graph, const std::filesystem::path& path);
// Writes files and gives them their names; all or none.
Status write_files(std::span<const ArtifactFile> files);

}  // namespace ec
