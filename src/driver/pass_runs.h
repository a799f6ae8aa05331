// Runs passes as the options of a compilation ask for it.
#pragma once

#include <string_view>

#include "driver/compilation.h"

namespace ec {

// `pipeline` is a name or a list of passes. Dumps go to a folder named after the phase.
Status run_passes(const Compilation& compilation, CompiledModel& model, std::string_view phase,
                  std::string_view pipeline);

// The passes of optimise and legalise in one list, and how they are run: for sessions, which
// optimise a model with open sizes for each set of shapes.
std::string session_pipeline(const Compilation& compilation, const CompiledModel& model);
PassManagerOptions session_pass_options(const Compilation& compilation);

}  // namespace ec
