// libFuzzer: configuration files, TOML and JSON, against the options of every verb.
#include <cstdlib>

#include "driver/registry.h"
#include "fuzz/reader_fuzzer.h"
#include "options/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ec::OptionCatalog& catalog = ec::default_registry().options();
  const ec::fuzz::MemoryBound bound(size);
  const std::string_view text = ec::fuzz::text_of(data, size);
  for (const ec::Verb verb : {ec::Verb::Compile, ec::Verb::Evaluate}) {
    ec::Options options;
    const ec::Status status = ec::parse_config(text, "fuzz.toml", catalog, verb, options);
    if (!status.ok()) continue;
    (void)catalog.resolve(options, verb, {}).ok();
    (void)ec::generate_config(catalog, verb, options);
  }
  return 0;
}
