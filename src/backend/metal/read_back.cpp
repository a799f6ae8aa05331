// The package's program as a graph: decoded, its weights found again, imported.
#include "backend/metal/place.h"
#include "formats/coreml/package.h"
#include "frontend/coreml/coreml.h"

namespace ec::metal {

Result<std::vector<std::unique_ptr<Graph>>> read_package(std::span<const ArtifactFile> files) {
  const Blob bytes = Blob::joined(files.front().parts);
  EC_TRY(coreml::Model model, coreml::decode_model(bytes));
  size_t size = bytes.size();
  for (const ArtifactFile& file : files) {
    if (!file.path.generic_string().ends_with(coreml::kWeightsPath)) continue;
    const Blob weights = Blob::joined(file.parts);
    EC_CHECK_OK(coreml::resolve_weights(model, weights));
    size += weights.size();
  }
  DiagnosticSink sink;
  EC_TRY(std::unique_ptr<Graph> graph,
         import_coreml(model, files.front().path.string(), size, {}, sink));
  EC_CHECK_OK(give_single_precision(*graph));
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(std::move(graph));
  return graphs;
}

}  // namespace ec::metal
