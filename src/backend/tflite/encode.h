// TFLite files in memory: what this back end writes and what others that use the format build on.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "support/blob.h"
#include "writer/tflite/tflite.h"

namespace ec {

struct EncodedTflite {
  Blob bytes;
  TfliteSummary summary;
};

// Pools take the activation behind them along unless the device does not take such pools.
enum class PoolActivations : uint8_t { Fused, Apart };

// The file of a graph with its provenance and the preprocessing that the graph records. All
// operations that cannot be written go to the sink. An empty description leaves the model's own.
Result<EncodedTflite> encode_model(const Graph& graph, const ModelJob& job, PoolActivations pools,
                                   DiagnosticSink& sink, const std::string& description = {});
// Reads such a file again, for the self-check.
Result<std::unique_ptr<Graph>> read_back_tflite(const Blob& bytes,
                                                const std::filesystem::path& path);

}  // namespace ec
