// The pass `legalise-mil`.
#pragma once

#include "passes/pass.h"

namespace ec::passes {

extern const PassInfo kLegaliseMilPass;

// For programs of iOS 18 and later, which have attention, or for all.
std::unique_ptr<Pass> make_legalise_mil(bool whole_attention);

}  // namespace ec::passes
