// libFuzzer: the text form. What parses prints and parses again to an equal graph.
#include <cstdlib>
#include <string_view>

#include "ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = ec::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph.ok()) return 0;
  const auto again = ec::parse(ec::print(**graph));
  if (!again.ok() || !(**again == **graph)) std::abort();
  return 0;
}
