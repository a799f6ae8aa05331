// Element types of ML Programs and of the IR.
#pragma once

#include <optional>
#include <string>

#include "formats/coreml/model.h"
#include "ir/type.h"

namespace ec::mil {

// The type of elements in memory; nothing: text, or a type that only stored weights have.
std::optional<DType> to_dtype(coreml::DataType type);
// The type that a file declares of a tensor; open sizes get symbols that begin with `name`, unless
// it is empty. Nothing: no tensor of numbers.
std::optional<TensorType> declared_type(const coreml::ValueType& type, const std::string& name);
std::string type_text(const coreml::ValueType& type);

}  // namespace ec::mil
