// libFuzzer: the TFLite importer and the reader of Edge TPU packages. What imports must be a sound
// graph.
#include <cstdlib>

#include "formats/edgetpu/package.h"
#include "formats/tflite/model_file.h"
#include "frontend/tflite/tflite.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/reader_fuzzer.h"
#include "ir/graph.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return ec::fuzz::mutate_with<ec::fuzz::FlatMutator>(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::fuzz::MemoryBound bound(size);
  const ec::Blob file = ec::fuzz::blob_of(data, size);
  ec::DiagnosticSink sink;
  const auto graph = ec::import_tflite(file, "fuzz.tflite", {}, sink);
  // Refused with a reason, or a sound graph; never both or neither.
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  ec::DiagnosticSink faults;
  const auto opened = ec::tflite::ModelFile::open(file, faults);
  if (!opened.ok()) return 0;
  for (size_t g = 0; g < opened->num_subgraphs(); ++g)
    for (uint32_t i = 0; i < ec::tflite::size_of(opened->subgraph(g).operators()); ++i) {
      const auto& op = *opened->subgraph(g).operators()->Get(i);
      (void)ec::edgetpu::read_custom_op(opened->custom_options(op)).ok();
    }
  return 0;
}
