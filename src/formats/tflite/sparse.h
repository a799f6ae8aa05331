// Sparse constants: the values of a tree whose levels are dimensions (and dimensions of blocks),
// dense or compressed. Stored densely in the IR.
#pragma once

#include "formats/tflite/model_file.h"

namespace ec::tflite {

// The dense bytes of a sparse tensor; zeros elsewhere. Everything in the tree is checked. The
// result takes at most `limit` bytes (TooLarge).
Result<Blob> dense_data(const Tensor& tensor, const Blob& values, size_t limit);

}  // namespace ec::tflite
