// Values for a session's inputs from the -i options.
#pragma once

#include <vector>

#include "cli.h"
#include "driver/opened_session.h"

namespace ec::cli {

// Without -i every input is random. Images become inputs as the options say, else as the model's
// file says.
Result<std::vector<NamedValue>> gather_inputs(const Options& options, const OpenedSession& opened,
                                              Verb verb, DiagnosticSink& sink);

}  // namespace ec::cli
