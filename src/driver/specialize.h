// Gives open dimensions of a graph their sizes, for files that no front end imports (.ecir).
#pragma once

#include "edgecompiler/options.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec {

// Fixes dimensions of the inputs and infers all types again. A name that the model lacks, a rank or
// a fixed size that differs: BadShapeOption, with what the model has.
Status specialize(Graph& graph, const CompileOptions& options, DiagnosticSink& sink);

}  // namespace ec
