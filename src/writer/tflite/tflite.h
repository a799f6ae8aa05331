// Graph to TFLite file. The graph must be in the form TFLite has (the `tflite` pipeline brings it
// there); what is not is a NotOnTarget diagnostic each, all of them in one run. The same graph
// gives the same bytes.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec {

struct TfliteWriteOptions {
  // Where the file comes from; stored as JSON in the metadata entry kTfliteProvenance.
  std::map<std::string, std::string> provenance;
  // Further metadata entries by name; they replace those of the file that the graph was read from.
  std::map<std::string, std::string> entries;
  std::string description;
  // Pools take the activation behind them along. Some devices do not take such pools.
  bool fuse_pool_activations = true;
  // The largest file: offsets inside a FlatBuffers file are 32-bit.
  uint64_t size_limit = (uint64_t{1} << 31) - 1;
};

inline constexpr std::string_view kTfliteProvenance = "edgecompiler.provenance";

// What the file holds, for reports.
struct TfliteSummary {
  // Operators by name with their number, most frequent first.
  std::vector<std::pair<std::string, int64_t>> operators;
  int64_t num_operators = 0;
  // For every operator of the main graph: the name in the source model of what it stands for.
  std::vector<std::string> sources;

  int64_t count(std::string_view name) const;
};

// The file's bytes. Errors: the first operation that cannot be written (all are in `sink`), or a
// file that would be too large.
Result<Blob> encode_tflite(const Graph& graph, const TfliteWriteOptions& options,
                           DiagnosticSink& sink, TfliteSummary* summary = nullptr);

}  // namespace ec
