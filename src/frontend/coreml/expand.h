// Compressed weights as the elements that they stand for: tables (palettes) and masks.
#pragma once

#include <vector>

#include "frontend/graph_builder.h"
#include "ir/type.h"
#include "support/result.h"

namespace ec::mil {

// Elements of one type and shape.
struct Weights {
  DType dtype = DType::F32;
  Ints shape;
  Blob data;
};

// The elements of tables by index. `indices` is u8 of shape S; `tables` has the shape
// [groups of each dimension of S..., entries, width]. A width above 1 makes the dimension
// `vector_axis` so many times as long.
Result<Weights> look_up(const Weights& indices, const Weights& tables, int64_t vector_axis);

// Elements in place of the ones of a mask (u8), zeros elsewhere.
Result<Weights> spread(const Weights& elements, const Weights& mask);
// The elements where a mask is one.
Result<Weights> pick(const Weights& elements, const Weights& mask);

}  // namespace ec::mil
