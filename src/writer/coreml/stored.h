// Constants that programs store in fewer bits than they read. The graph holds what the program
// unpacks them to; the element types are those of the graph.
#pragma once

#include <unordered_map>
#include <variant>

#include "ir/graph.h"
#include "support/blob.h"

namespace ec {

// constexpr_lut_to_dense: an index for each element.
struct CoremlPalette {
  int bits = 4;  // 1, 2, 3, 4, 6 or 8
  Blob indices;  // one byte each
  Blob table;    // 2^bits elements
};

// constexpr_sparse_to_dense: the elements that are not zero.
struct CoremlSparse {
  Blob mask;      // one byte each, 0 or 1
  Blob elements;  // as many as the mask has ones
};

using CoremlStored = std::variant<CoremlPalette, CoremlSparse>;
// Looked up, never iterated.
using CoremlStoredConstants = std::unordered_map<const Tensor*, CoremlStored>;

}  // namespace ec
