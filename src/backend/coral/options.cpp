#include "backend/coral/options.h"

#include "backend/tflite/exports.h"

namespace ec::coral {
namespace {

constexpr OptionDef kOptions[] = {
    kKeepIoLayoutOption,
    {.name = "edgetpu-runtime",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "version of the Edge TPU runtime on the device; older ones run fewer operations",
     .default_value = "14",
     .least = 10,
     .most = 14,
     .verbs = kPlacesModel},
    {.name = "edgetpu-rules",
     .type = OptionType::Choice,
     .argument = "RULES",
     .help = "what decides which operations the device runs: Google's published table corrected by "
             "compiled files (fitted), or the table alone (published)",
     .default_value = "fitted",
     .choices = "fitted|published",
     .verbs = kPlacesModel,
     .changes_output = false},
    {.name = "edgetpu-compiler",
     .type = OptionType::Flag,
     .help = "run Google's edgetpu_compiler on the result and write its Edge TPU code as "
             "NAME_edgetpu.tflite",
     .verbs = kPlacesModel,
     .changes_output = false},
    {.name = "segments",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "cut the model into N files for a pipeline of N devices, NAME_segment_I_of_N.tflite",
     .least = 2,
     .most = 1000,
     .verbs = kPlacesModel},
};

}  // namespace

std::span<const OptionDef> option_table() { return kOptions; }

TargetOptions target_options(const Options& options) {
  TargetOptions values;
  if (const auto runtime = options.integer_if("edgetpu-runtime"))
    values.rules.runtime = static_cast<int>(*runtime);
  if (options.text("edgetpu-rules") == "published") values.rules.evidence = Evidence::Published;
  values.run_compiler = options.flag("edgetpu-compiler");
  values.segments = static_cast<size_t>(options.integer("segments"));
  values.keep_io_layout = options.flag(kKeepIoLayoutOption.name);
  return values;
}

}  // namespace ec::coral
