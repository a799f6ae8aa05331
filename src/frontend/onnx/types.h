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

}  // namespace ec::onnx
