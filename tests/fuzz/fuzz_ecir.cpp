// libFuzzer: the text form and the saved form. What is read prints and parses again to an equal
// graph.
#include <cstdlib>

#include "fuzz/reader_fuzzer.h"
#include "ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::fuzz::MemoryBound bound(size);
  const auto graph = ec::read_ecir(ec::fuzz::blob_of(data, size));
  if (!graph.ok()) return 0;
  const auto again = ec::parse(ec::print(**graph));
  if (!again.ok() || !(**again == **graph)) std::abort();
  return 0;
}
