// ONNX types as types of the IR.
#pragma once

#include <optional>

#include "formats/onnx/model.h"
#include "ir/type.h"
#include "support/result.h"

namespace ec::onnx {

std::optional<DType> to_dtype(DataType type);  // empty: string, complex or no type
// The same for a number in an attribute; UnsupportedType or BadAttribute otherwise.
Result<DType> dtype_of_number(int64_t number);

// What a declared type says about the tensor; an error for values that are no tensors. `invented`
// numbers the sizes that have no name.
Result<TensorType> declared_type(const ValueInfo& info, int& invented);

}  // namespace ec::onnx
