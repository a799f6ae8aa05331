#include "frontend/coreml/types.h"

namespace ec::mil {

using coreml::DataType;

std::optional<DType> to_dtype(DataType type) {
  switch (type) {
    case DataType::Bool:
      return DType::Bool;
    case DataType::Float16:
      return DType::F16;
    case DataType::Float32:
      return DType::F32;
    case DataType::Float64:
      return DType::F64;
    case DataType::BFloat16:
      return DType::BF16;
    case DataType::Int8:
      return DType::I8;
    case DataType::Int16:
      return DType::I16;
    case DataType::Int32:
      return DType::I32;
    case DataType::Int64:
      return DType::I64;
    case DataType::Int4:
      return DType::I4;
    case DataType::UInt8:
      return DType::U8;
    case DataType::UInt16:
      return DType::U16;
    case DataType::UInt32:
      return DType::U32;
    case DataType::UInt64:
      return DType::U64;
    case DataType::UInt4:
      return DType::U4;
    case DataType::UInt2:
      return DType::U2;
    // Wider elements stand for those that have no type of their own.
    case DataType::UInt1:
    case DataType::UInt3:
    case DataType::UInt6:
      return DType::U8;
    case DataType::Float8E4M3FN:
      return DType::F8E4M3FN;
    case DataType::Float8E5M2:
      return DType::F8E5M2;
    case DataType::Unused:
    case DataType::String:
      break;
  }
  return std::nullopt;
}

std::optional<TensorType> declared_type(const coreml::ValueType& type, const std::string& name) {
  if (type.kind != coreml::ValueType::Kind::Tensor) return std::nullopt;
  const auto dtype = to_dtype(type.element);
  if (!dtype) return std::nullopt;
  TensorType made(*dtype);
  if (type.variadic) return made;
  Shape shape;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i] >= 0)
      shape.push_back(type.dims[i]);
    else
      shape.push_back(name.empty() ? Dim::unknown()
                                   : Dim::symbol(name + "_dim" + std::to_string(i)));
  }
  made.shape = std::move(shape);
  return made;
}

std::string type_text(const coreml::ValueType& type) {
  switch (type.kind) {
    case coreml::ValueType::Kind::List:
      return "a list";
    case coreml::ValueType::Kind::Tuple:
      return "a tuple";
    case coreml::ValueType::Kind::Dictionary:
      return "a dictionary";
    case coreml::ValueType::Kind::State:
      return "a state";
    case coreml::ValueType::Kind::Tensor:
      break;
  }
  std::string text(coreml::name_of(type.element));
  text += '[';
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += type.dims[i] < 0 ? "?" : std::to_string(type.dims[i]);
  }
  return text + "]";
}

}  // namespace ec::mil
