// Index tensors as PyTorch reads them, shared by reading (index) and writing (index_put).
#pragma once

#include "frontend/torch/aten/call.h"

namespace ec::torch {

// Indexed dimensions with their integer indices; boolean masks become the indices at which they are
// true.
struct IndexedDims {
  Ints dims;
  Tensors indices;
  bool adjacent = true;  // the dimensions follow each other
};

Result<IndexedDims> indexed_dims(Call& c, ec::Tensor* x, const Tensors& given);
// Of the elements of a diagonal in the flattened matrix.
Ints diagonal_indices(int64_t rows, int64_t columns, int64_t offset);
// The order of dimensions with the indexed ones first.
Ints indexed_first(const Ints& dims, int64_t rank);
// The indices broadcast against each other and stacked: [..., number of indexed dimensions].
Result<ec::Tensor*> stacked_indices(Call& c, const Tensors& indices);
// Rank of the indices' common shape.
int64_t joint_rank(Call& c, const Tensors& indices);

}  // namespace ec::torch
