// libFuzzer: configuration files, TOML and JSON. The options are one of every type, under names
// that the program has, too.
#include <cstdlib>

#include "fuzz/reader_fuzzer.h"
#include "options/config.h"

namespace {

constexpr ec::OptionDef kOptions[] = {
    {.name = "verbose", .type = ec::OptionType::Level, .verbs = ec::VerbSet::all()},
    {.name = "json", .type = ec::OptionType::Flag, .verbs = ec::VerbSet::all()},
    {.name = "target", .type = ec::OptionType::Text, .verbs = ec::kReadsModel, .short_name = 't'},
    {.name = "timeout",
     .type = ec::OptionType::Number,
     .least = 0.001,
     .most = 1e7,
     .verbs = ec::kReadsModel},
    {.name = "iterations",
     .type = ec::OptionType::Integer,
     .default_value = "100",
     .least = 1,
     .most = 1e9,
     .verbs = ec::VerbSet(ec::Verb::Bench)},
    {.name = "quantize",
     .type = ec::OptionType::Choice,
     .choices = "ptq|int8|dynamic",
     .verbs = ec::kQuantizesModel},
    {.name = "output", .type = ec::OptionType::File, .verbs = ec::kRewritesModel},
    {.name = "dump-phases", .type = ec::OptionType::Directory, .verbs = ec::kRunsPasses},
    {.name = "mean", .type = ec::OptionType::Numbers, .verbs = ec::kReadsImages},
    {.name = "keep-float", .type = ec::OptionType::Texts, .verbs = ec::kQuantizesModel},
    {.name = "report", .type = ec::OptionType::Items, .verbs = ec::kReadsModel},
    {.name = "input-shape", .type = ec::OptionType::Shapes, .verbs = ec::kReadsModel},
    {.name = "dim", .type = ec::OptionType::Sizes, .verbs = ec::kReadsModel},
    {.name = "input-value", .type = ec::OptionType::NamedTexts, .verbs = ec::kReadsModel},
};

const ec::OptionCatalog& catalog() {
  static const ec::OptionCatalog kCatalog = [] {
    ec::OptionCatalog made;
    if (!made.add({"Options", kOptions}).ok()) std::abort();
    return made;
  }();
  return kCatalog;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)catalog();
  const ec::fuzz::MemoryBound bound(size);
  const std::string_view text = ec::fuzz::text_of(data, size);
  for (const ec::Verb verb : {ec::Verb::Compile, ec::Verb::Bench}) {
    ec::Options options;
    const ec::Status status = ec::parse_config(text, "fuzz.toml", catalog(), verb, options);
    if (!status.ok()) continue;
    (void)catalog().resolve(options, verb, {}).ok();
    (void)ec::generate_config(catalog(), verb, options);
  }
  return 0;
}
