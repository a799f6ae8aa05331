// Declarations of the pass definitions; only the registry and the files that define passes include
// this.
#pragma once

#include "passes/pass.h"

namespace ec::passes {

#define EC_PASS(Name) extern const PassInfo k##Name##Pass;
#include "passes/passes.def"
#undef EC_PASS

}  // namespace ec::passes
