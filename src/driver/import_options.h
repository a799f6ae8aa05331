// What front ends need to know of the options.
#pragma once

#include "edgecompiler/options.h"
#include "frontend/frontend.h"

namespace ec {

// Usage: a value of --input-value that cannot be read.
Result<ImportOptions> import_options(const Options& options);

}  // namespace ec
