// libFuzzer: the Core ML importer. The input is a model file; constants that refer to a weight file
// find the input itself, which may be one. What imports must be a sound graph.
#include <cstdlib>

#include "formats/coreml/package.h"
#include "frontend/coreml/coreml.h"
#include "fuzz/reader_fuzzer.h"
#include "fuzz/wire_mutator.h"
#include "ir/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::Blob file = ec::fuzz::blob_of(data, size);
  const ec::fuzz::MemoryBound bound(size);
  (void)ec::coreml::model_path_of(file);
  (void)ec::coreml::looks_like_model(file.bytes());
  auto model = ec::coreml::decode_model(file);
  if (!model.ok() || !ec::coreml::resolve_weights(*model, file).ok()) return 0;
  ec::DiagnosticSink sink;
  const auto graph = ec::import_coreml(*model, "fuzz.mlpackage", size, {}, sink);
  // Refused with a reason, or a sound graph; never both or neither.
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return ec::fuzz::mutate_with<ec::fuzz::WireMutator>(data, size, max_size, seed);
}
