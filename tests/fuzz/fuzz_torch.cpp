// libFuzzer: the TorchScript importer. What imports must be a sound graph.
#include <cstdlib>

#include "frontend/torch/script/script.h"
#include "fuzz/reader_fuzzer.h"
#include "ir/graph.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return ec::fuzz::mutate_archive(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::fuzz::MemoryBound bound(size);
  ec::ImportOptions options;
  // Sizes that the checked-in models take: without them most programs stop at their inputs.
  options.input_shapes = {{"0", {1, 3, 8, 8}}};
  for (const ec::ImportOptions& tried : {ec::ImportOptions(), options}) {
    ec::DiagnosticSink sink;
    const auto graph =
        ec::import_torchscript(ec::fuzz::blob_of(data, size), "fuzz.pt", tried, sink);
    // Refused with a reason, or a sound graph; never both or neither.
    if (graph.ok() == sink.has_errors()) std::abort();
    if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
    if (graph.ok()) break;
  }
  return 0;
}
