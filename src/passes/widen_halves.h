// Half precision computed in single precision, before anything else looks at a graph.
#pragma once

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

// Operations on f16 compute in f32: constants are converted, inputs, outputs, states and the
// borders of nested graphs keep their types behind casts. Kernels and integer rules are those of
// f32; results differ by the rounding that is left out between operations. No target here computes
// in f16.
Status widen_halves(Graph& graph);

}  // namespace ec
