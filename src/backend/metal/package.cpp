#include "backend/metal/package.h"

#include "formats/coreml/package.h"
#include "support/sha256.h"

namespace ec::metal {
namespace {

Blob blob_of(std::string_view text) {
  return Blob::copy_of(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

std::vector<ArtifactFile> package_files(CoremlProgram program,
                                        const std::filesystem::path& directory) {
  const Blob model = blob_of(coreml::encode_model(program.model));
  const bool has_weights = !program.weights.empty();
  std::vector<Blob> weights = std::move(program.weights).finish();
  // Identifiers are the program's: it holds the hashes of source and options, which decide the
  // weights, and hashing these once more would take as long as writing them.
  Sha256 hash;
  hash.add(model.bytes());
  const std::string manifest = coreml::encode_manifest(std::move(hash).hex(), has_weights);
  std::vector<ArtifactFile> files;
  files.push_back({directory / coreml::kModelPath, {model}});
  if (has_weights) files.push_back({directory / coreml::kWeightsPath, std::move(weights)});
  files.push_back({directory / coreml::kManifestPath, {blob_of(manifest)}});
  return files;
}

}  // namespace ec::metal
