// Values of the file as constants of the graph.
#pragma once

#include <cstdint>

#include "formats/coreml/model.h"
#include "ir/type.h"
#include "support/result.h"

namespace ec::mil {

// A run of packed elements of 1 to 7 bits, least significant bit first, one byte each. Signed
// elements are extended. Empty: the bytes do not hold so many, or there is no memory.
Blob unpack_bits(const Blob& packed, int bits, bool is_signed, int64_t count);

// The type of a stored value and its bytes as the IR holds them. `copied`: the elements were
// packed.
struct StoredTensor {
  TensorType type;
  Blob data;
  bool copied = false;
};
Result<StoredTensor> stored_tensor(const coreml::Value& value);

}  // namespace ec::mil
