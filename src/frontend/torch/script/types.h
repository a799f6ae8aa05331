// Types of the source that the program itself asks about: isinstance(x, List[Tensor]).
#pragma once

#include "frontend/torch/script/ast.h"
#include "frontend/torch/value.h"

namespace ec::torch::script {

// Whether the value is of the type; a tuple of types stands for any of them. Containers are told by
// their kind and first item: all items of a TorchScript container are of one type.
bool is_instance(const TorchValue& value, const Expr& type);

}  // namespace ec::torch::script
