// Whether a graph leaves sizes of its inputs open.
#pragma once

#include <algorithm>

#include "ir/graph.h"

namespace ec {

inline bool has_open_inputs(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(),
                             [](const Tensor* input) { return !input->type().is_static(); });
}

}  // namespace ec
