// Inputs and outputs of a graph: those that a signature names, that the user names, or those that
// the graph's structure suggests.
#pragma once

#include "formats/tensorflow/model.h"
#include "frontend/frontend.h"
#include "frontend/tensorflow/importer.h"

namespace ec::tf {

// The inputs have open sizes as symbols; the user's sizes are applied.
Result<Interface> interface_of_signature(const Signature& signature, const FunctionBody& graph,
                                         const ImportOptions& options, DiagnosticSink& sink);

// Placeholders that the outputs need; outputs: nodes that nobody reads. Names that the user gives
// stand above both.
Result<Interface> interface_of_graph(const FunctionBody& graph, const ImportOptions& options,
                                     DiagnosticSink& sink);

}  // namespace ec::tf
