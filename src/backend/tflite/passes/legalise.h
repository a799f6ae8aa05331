// The pass `legalise-tflite`.
#pragma once

#include "passes/pass.h"

namespace ec::passes {

extern const PassInfo kLegaliseTflitePass;

}  // namespace ec::passes
