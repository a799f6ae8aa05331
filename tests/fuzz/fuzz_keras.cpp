// libFuzzer: the Keras importer, .h5 and .keras. What imports must be a sound graph.
#include <cstdlib>

#include "frontend/keras/keras.h"
#include "ir/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::Blob file = ec::Blob::copy_of(std::span<const uint8_t>(data, size));
  ec::DiagnosticSink sink;
  const auto graph = ec::import_keras(file, "fuzz.keras", {}, sink);
  // Refused with a reason, or a sound graph; never both or neither.
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  return 0;
}
