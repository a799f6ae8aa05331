// Integers of 4 bits, which TensorFlow stores in a byte each.
#pragma once

#include "formats/tensorflow/model.h"
#include "support/blob.h"

namespace ec::tf {

// The elements of a tensor of the type as kernels know them: what a file has in the upper bits says
// nothing. Other types are given back as they are.
Blob without_upper_bits(DataType type, Blob data);

}  // namespace ec::tf
