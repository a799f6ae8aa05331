#include "backend/coral/integer_rules.h"

#include "backend/tflite/integer_rules.h"

namespace ec::quantize {

const TargetSpec& coral_spec() {
  // The Edge TPU compiler dates from before scales per channel in fully connected layers.
  static constexpr TargetSpec kSpec{.name = "coral",
                                    .integers_only = true,
                                    .io_type = "int8",
                                    .describe = [](const Operation& op, Width width) {
                                      return describe_tflite_op(op, width, false);
                                    }};
  return kSpec;
}

}  // namespace ec::quantize
