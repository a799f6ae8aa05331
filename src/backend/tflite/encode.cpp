#include "backend/tflite/encode.h"

#include "frontend/tflite/tflite.h"
#include "quantize/fold_input/preprocessing_keys.h"

namespace ec {

Result<EncodedTflite> encode_model(const Graph& graph, const ModelJob& job, PoolActivations pools,
                                   DiagnosticSink& sink, const std::string& description) {
  TfliteWriteOptions options;
  options.description = description;
  options.fuse_pool_activations = pools == PoolActivations::Fused;
  options.provenance = job.provenance;
  // Whoever feeds the file needs to know these.
  for (const std::string_view key :
       {quantize::kPreprocessingKey, quantize::kFoldedPreprocessingKey})
    if (const auto found = graph.metadata().find(std::string(key)); found != graph.metadata().end())
      options.entries.insert(*found);
  EncodedTflite encoded;
  EC_TRY(encoded.bytes, encode_tflite(graph, options, sink, &encoded.summary));
  return encoded;
}

Result<std::unique_ptr<Graph>> read_back_tflite(const Blob& bytes,
                                                const std::filesystem::path& path) {
  DiagnosticSink sink;
  return import_tflite(bytes, path, {}, sink);
}

}  // namespace ec
