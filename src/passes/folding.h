// The steps of inference and folding on one operation. fold-known takes them all in one walk from
// the inputs on; infer-shapes, fold-shapes and fold-constants run one step each.
#pragma once

#include "passes/rewriter.h"

namespace ec {

// Infers the operation again; true when more is known of a result than before. A rewrite never
// changes a tensor's shape, so what was known stays known.
bool refine_types(Operation& op);
// Turns shape arithmetic that inference has followed into constants; true when it did.
bool fold_shape(Rewriter& rewriter, Operation* op);
// Computes an operation whose operands are constants; true when it did and the operation is gone.
bool fold_constant(Rewriter& rewriter, Operation* op);

}  // namespace ec
