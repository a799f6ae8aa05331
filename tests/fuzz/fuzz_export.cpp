// libFuzzer: the importer of torch.export archives. What imports must be a sound graph.
#include <cstdlib>

#include "frontend/torch/export/export.h"
#include "fuzz/reader_fuzzer.h"
#include "ir/graph.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return ec::fuzz::mutate_archive(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::fuzz::MemoryBound bound(size);
  ec::DiagnosticSink sink;
  const auto graph = ec::import_torch_export(ec::fuzz::blob_of(data, size), "fuzz.pt2", {}, sink);
  // Refused with a reason, or a sound graph; never both or neither.
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  return 0;
}
