#include "frontend/onnx/types.h"

#include "formats/onnx/tensor_data.h"

namespace ec::onnx {

std::optional<DType> to_dtype(DataType type) {
  const DataTypeInfo* info = find_data_type(type);
  return info == nullptr ? std::nullopt : dtype_from_name(info->element);
}

Result<DType> dtype_of_number(int64_t number) {
  if (number >= 0 && number <= INT32_MAX) {
    const auto type = static_cast<DataType>(number);
    if (const auto dtype = to_dtype(type)) return *dtype;
    if (find_data_type(type) != nullptr)
      return Error(Code::UnsupportedType, "element type " + data_type_name(type))
          .hint("only numbers and booleans are supported");
  }
  return Error(Code::BadAttribute, std::to_string(number) + " is no ONNX element type");
}

}  // namespace ec::onnx
