// Channel shuffles behind a concatenation: programs join channels in turns with one operation.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"

namespace ec::mil {

struct Interleavings {
  // By the reshape at the end: the concatenation at the beginning. Looked up, never iterated.
  std::unordered_map<const Operation*, const Operation*> concats;
  // What they stand for besides: concatenation, reshape, transpose.
  std::unordered_set<const Operation*> inner;
};

//   concat(a, b) -> reshape [N, 2, C, H, W] -> transpose [0, 2, 1, 3, 4] -> reshape [N, 2 C, H, W]
// where nothing else reads a result on the way.
Interleavings find_interleavings(const Graph& graph);

// The result of `e` joins the operands of a concatenation, one behind the other or, where they
// interleave, element by element in turns.
class OpEmitter;
void emit_concat(OpEmitter& e, const Operation& concat, bool interleave);

}  // namespace ec::mil
