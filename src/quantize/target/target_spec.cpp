#include "quantize/target/target_spec.h"

namespace ec::quantize {
namespace {

constexpr TargetSpec kSpecs[] = {
    {.name = "tflite",
     .has_wide = true,
     .float_norms = true,
     .describe = [](const Operation& op,
                    Width width) { return describe_tflite_op(op, width, true); },
     .describe_weights = describe_tflite_weights,
     .has_float16 = true},
    // The Edge TPU compiler dates from before scales per channel in fully connected layers.
    {.name = "coral",
     .integers_only = true,
     .io_type = "int8",
     .describe = [](const Operation& op,
                    Width width) { return describe_tflite_op(op, width, false); }},
};

}  // namespace

std::span<const TargetSpec> all_target_specs() { return kSpecs; }

const TargetSpec* find_target_spec(std::string_view target) {
  for (const TargetSpec& spec : kSpecs)
    if (spec.name == target) return &spec;
  return nullptr;
}

}  // namespace ec::quantize
