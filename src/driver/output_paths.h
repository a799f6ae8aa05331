// Where the files of a compilation go.
#pragma once

#include <filesystem>

#include "driver/compilation.h"

namespace ec {

// Fills report.output of every model: --output, or NAME_TARGET.EXT in the current folder; empty
// where nothing is written. Usage: a name that the target does not write, the model itself, two
// models with one output.
Status choose_outputs(Compilation& compilation);

// The folder of --dump-phases for a model: one of its own where there are several.
std::filesystem::path dump_folder(const Compilation& compilation, const CompiledModel& model);

}  // namespace ec
