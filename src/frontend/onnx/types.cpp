#include "frontend/onnx/types.h"

#include "formats/onnx/decode.h"
#include "formats/onnx/tensor_data.h"
#include "support/strings.h"

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

namespace {

// Names that converters write for sizes they do not know: two of them need not be equal.
bool is_anonymous(std::string_view param) {
  return param.empty() || param == "?" || param == "*" || param == "-1" || param == "None";
}

}  // namespace

Result<TensorType> declared_type(const ValueInfo& info, int& invented) {
  EC_TRY(const Type type, decode_type(info.type));
  if (type.kind != Type::Kind::Tensor)
    return Error(Code::UnsupportedType, "'" + printable(info.name) + "'" +
                                            (type.kind == Type::Kind::None
                                                 ? " has no declared type"
                                                 : " is no tensor (a sequence, optional or map)"));
  EC_TRY(const DType dtype, dtype_of_number(static_cast<int64_t>(type.element)));
  if (!type.has_shape) return TensorType(dtype);
  Shape shape;
  for (const Dimension& dim : type.dims) {
    if (dim.value && *dim.value >= 0)
      shape.push_back(Dim(*dim.value));
    else if (is_anonymous(dim.param))
      shape.push_back(Dim::symbol("?" + std::to_string(invented++)));
    else
      shape.push_back(Dim::symbol(dim.param));
  }
  return TensorType(dtype, std::move(shape));
}

}  // namespace ec::onnx
