#pragma once

#include "quantize/target/target_spec.h"

namespace ec::quantize {

// What is rounded in packages: activations between quantize and dequantize, and stored weights.
const TargetSpec& metal_spec();

}  // namespace ec::quantize
