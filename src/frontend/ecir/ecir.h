// The front end of .ecir files: the compiler's own graphs, saved or written by hand.
#pragma once

#include "frontend/frontend.h"

namespace ec {

const Frontend& ecir_frontend();

// Fixes dimensions of the inputs and infers all types again. A name that the graph lacks, a rank or
// a fixed size that differs: BadShapeOption, with what the graph has.
Status apply_import_options(Graph& graph, const ImportOptions& options, DiagnosticSink& sink);

}  // namespace ec
