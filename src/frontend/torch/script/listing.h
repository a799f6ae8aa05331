// The operators of a program as they stand in its code, found without running it.
#pragma once

#include "frontend/torch/script/interpreter.h"

namespace ec::torch::script {

// Adds a custom operation for every call of an operator that forward() reaches through the modules
// of the archive. Loops and branches are not followed by values: what stands in them is listed
// once.
Status list_operators(Interpreter& interpreter, ec::Graph& graph, KeptOperations& kept);

}  // namespace ec::torch::script
