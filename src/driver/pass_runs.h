// Runs passes as the options of a compilation ask for it.
#pragma once

#include <string_view>

#include "driver/compilation.h"

namespace ec {

// `pipeline` is a name or a list of passes. Dumps go to a folder named after the phase.
Status run_passes(const Compilation& compilation, CompiledModel& model, std::string_view phase,
                  std::string_view pipeline);

}  // namespace ec
