// The pass `legalise-mil`.
#pragma once

#include "passes/pass.h"

namespace ec::passes {

extern const PassInfo kLegaliseMilPass;

}  // namespace ec::passes
