// libFuzzer: the TorchScript importer. What imports must be a sound graph.
#include <cstdlib>

#include "frontend/torch/script/script.h"
#include "ir/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::Blob file = ec::Blob::copy_of(std::span<const uint8_t>(data, size));
  ec::DiagnosticSink sink;
  const auto graph = ec::import_torchscript(file, "fuzz.pt", {}, sink);
  // Refused with a reason, or a sound graph; never both or neither.
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  return 0;
}
