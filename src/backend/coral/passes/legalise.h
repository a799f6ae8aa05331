// The pass `legalise-coral`.
#pragma once

#include "passes/pass.h"

namespace ec::passes {

extern const PassInfo kLegaliseCoralPass;

}  // namespace ec::passes
