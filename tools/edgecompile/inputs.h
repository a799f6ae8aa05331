// Values for a session's inputs from the -i options.
#pragma once

#include <vector>

#include "cli.h"
#include "runtime/session.h"

namespace ec::cli {

// Without -i every input is random.
Result<std::vector<NamedValue>> gather_inputs(const Options& options, const Session& session);

}  // namespace ec::cli
