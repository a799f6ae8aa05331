// The options that say how a model is read: sizes and values of its inputs, and which part is
// meant.
#pragma once

#include "edgecompiler/options.h"
#include "frontend/frontend.h"
#include "options/catalog.h"

namespace ec {

OptionGroup model_options();

// Usage: a value of --input-value that cannot be read.
Result<ImportOptions> import_options(const Options& options);

}  // namespace ec
