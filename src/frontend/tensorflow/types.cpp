#include "frontend/tensorflow/types.h"

namespace ec::tf {

std::optional<DType> to_dtype(DataType type) {
  const auto number = static_cast<int32_t>(type);
  if (number > 100 && number < 200) type = static_cast<DataType>(number - 100);  // a reference
  switch (type) {
    case DataType::Float:
    case DataType::Complex64:
      return DType::F32;
    case DataType::Double:
    case DataType::Complex128:
      return DType::F64;
    case DataType::Int32:
    case DataType::Qint32:
      return DType::I32;
    case DataType::Uint8:
    case DataType::Quint8:
      return DType::U8;
    case DataType::Int16:
      return DType::I16;
    case DataType::Int8:
    case DataType::Qint8:
      return DType::I8;
    case DataType::Int64:
      return DType::I64;
    case DataType::Bool:
      return DType::Bool;
    case DataType::Bfloat16:
      return DType::BF16;
    case DataType::Uint16:
      return DType::U16;
    case DataType::Half:
      return DType::F16;
    case DataType::Uint32:
      return DType::U32;
    case DataType::Uint64:
      return DType::U64;
    case DataType::Float8E5M2:
      return DType::F8E5M2;
    case DataType::Float8E4M3FN:
      return DType::F8E4M3FN;
    case DataType::Int4:
      return DType::I4;
    case DataType::Uint4:
      return DType::U4;
    default:
      return std::nullopt;
  }
}

std::optional<Shape> to_shape(const PartialShape& shape) {
  if (!shape) return std::nullopt;
  Shape result;
  for (const int64_t size : *shape) result.push_back(size < 0 ? Dim::unknown() : Dim(size));
  return result;
}

}  // namespace ec::tf
