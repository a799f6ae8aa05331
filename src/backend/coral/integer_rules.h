// What the Edge TPU does with integers.
#pragma once

#include "quantize/target/target_spec.h"

namespace ec::quantize {

const TargetSpec& coral_spec();

}  // namespace ec::quantize
