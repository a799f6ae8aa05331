// Attribute values, shapes and tensors.
#include "formats/protobuf/wire.h"
#include "formats/tensorflow/decode.h"

namespace ec::tf {
namespace {

using wire::guarded;
using wire::Reader;

namespace field {
// AttrValue; its lists have the same numbers, but 9 for functions.
constexpr uint32_t kList = 1, kText = 2, kInteger = 3, kReal = 4, kBool = 5, kType = 6, kShape = 7,
                   kTensor = 8, kPlaceholder = 9, kFunction = 10, kListFunction = 9;
// TensorShapeProto
constexpr uint32_t kDim = 2, kUnknownRank = 3, kDimSize = 1;
// TensorProto
constexpr uint32_t kTensorType = 1, kTensorShape = 2, kTensorContent = 4;
// NameAttrList
constexpr uint32_t kFunctionName = 1;
}  // namespace field

// Numbers of an attribute: strides, axes, shapes of lists.
constexpr size_t kMaxNumbers = 1 << 20;

std::string_view name_of_function(Bytes message) {
  std::string_view name;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::kFunctionName)
      r.read(name);
    else
      r.skip();
  }
  return name;
}

PartialShape read_shape(Bytes message) {
  std::vector<int64_t> sizes;
  bool unknown_rank = false;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::kUnknownRank) {
      r.read(unknown_rank);
    } else if (r.tag() == field::kDim && r.is_message() && sizes.size() < kMaxRank + 1) {
      Bytes dim;
      r.read(dim);
      int64_t size = 0;
      for (Reader d(dim); d.next();) {
        if (d.tag() == field::kDimSize)
          d.read(size);
        else
          d.skip();
      }
      sizes.push_back(size < 0 ? -1 : size);
    } else {
      r.skip();
    }
  }
  if (unknown_rank) return std::nullopt;
  return sizes;
}

}  // namespace

Result<PartialShape> decode_shape(Bytes message) {
  return guarded([&]() -> Result<PartialShape> {
    PartialShape shape = read_shape(message);
    if (shape && shape->size() > kMaxRank)
      return Error(Code::TooLarge, "a shape has more than 64 dimensions");
    return shape;
  });
}

Result<Tensor> decode_tensor(Bytes message) {
  return guarded([&]() -> Result<Tensor> {
    Tensor tensor;
    tensor.message = message;
    PartialShape shape = std::vector<int64_t>{};
    for (Reader r(message); r.next();) {
      if (r.tag() == field::kTensorType) {
        int32_t type = 0;
        r.read(type);
        tensor.type = static_cast<DataType>(type);
      } else if (r.tag() == field::kTensorShape) {
        Bytes nested;
        r.read(nested);
        shape = read_shape(nested);
      } else if (r.tag() == field::kTensorContent) {
        r.read(tensor.content);
      } else {
        r.skip();
      }
    }
    if (!shape || shape->size() > kMaxRank)
      return Error(Code::BadTensorData, "a tensor has no shape");
    for (const int64_t size : *shape)
      if (size < 0) return Error(Code::BadTensorData, "a tensor has a size of -1");
    tensor.dims = std::move(*shape);
    return tensor;
  });
}

Result<AttributeValue> decode_attribute(Bytes message) {
  using Kind = AttributeValue::Kind;
  return guarded([&]() -> Result<AttributeValue> {
    AttributeValue value;
    const auto read_message = [&](Reader& r, Kind kind) {
      r.read(value.message);
      value.kind = kind;
    };
    const auto read_number = [&](Reader& r, Kind kind) {
      r.read(value.integer);
      value.kind = kind;
    };
    for (Reader r(message); r.next();) {
      switch (r.tag()) {
        case field::kText:
          r.read(value.text);
          value.kind = Kind::Text;
          break;
        case field::kInteger:
          read_number(r, Kind::Integer);
          break;
        case field::kBool:
          read_number(r, Kind::Bool);
          break;
        case field::kType:
          read_number(r, Kind::Type);
          break;
        case field::kReal:
          r.read(value.real);
          value.kind = Kind::Real;
          break;
        case field::kShape:
          read_message(r, Kind::Shape);
          break;
        case field::kTensor:
          read_message(r, Kind::Tensor);
          break;
        case field::kList:
          read_message(r, Kind::List);
          break;
        case field::kPlaceholder:
          r.read(value.text);
          value.kind = Kind::Placeholder;
          break;
        case field::kFunction:
          read_message(r, Kind::Function);
          value.text = name_of_function(value.message);
          break;
        default:
          r.skip();
      }
    }
    return value;
  });
}

Result<AttributeList> decode_list(Bytes message) {
  return guarded([&]() -> Result<AttributeList> {
    AttributeList list;
    bool fits = true;
    for (Reader r(message); r.next() && fits;) {
      switch (r.tag()) {
        case field::kText:
          fits = r.append(list.texts, kMaxNumbers);
          break;
        case field::kInteger:
        case field::kBool:
        case field::kType:
          fits = r.append(list.integers, kMaxNumbers);
          break;
        case field::kReal:
          fits = r.append(list.reals, kMaxNumbers);
          break;
        case field::kShape:
          fits = r.append(list.shapes, kMaxNumbers);
          break;
        case field::kListFunction: {
          Bytes function;
          fits = list.functions.size() < kMaxNumbers;
          r.read(function);
          list.functions.push_back(name_of_function(function));
          break;
        }
        default:
          r.skip();
      }
    }
    if (!fits) return Error(Code::TooLarge, "an attribute has too many values");
    return list;
  });
}

std::string data_type_name(DataType type) {
  switch (type) {
    case DataType::Float:
      return "float32";
    case DataType::Double:
      return "float64";
    case DataType::Int32:
      return "int32";
    case DataType::Uint8:
      return "uint8";
    case DataType::Int16:
      return "int16";
    case DataType::Int8:
      return "int8";
    case DataType::String:
      return "string";
    case DataType::Complex64:
      return "complex64";
    case DataType::Int64:
      return "int64";
    case DataType::Bool:
      return "bool";
    case DataType::Qint8:
      return "qint8";
    case DataType::Quint8:
      return "quint8";
    case DataType::Qint32:
      return "qint32";
    case DataType::Bfloat16:
      return "bfloat16";
    case DataType::Uint16:
      return "uint16";
    case DataType::Complex128:
      return "complex128";
    case DataType::Half:
      return "float16";
    case DataType::Resource:
      return "resource";
    case DataType::Variant:
      return "variant";
    case DataType::Uint32:
      return "uint32";
    case DataType::Uint64:
      return "uint64";
    case DataType::Float8E5M2:
      return "float8_e5m2";
    case DataType::Float8E4M3FN:
      return "float8_e4m3fn";
    case DataType::Int4:
      return "int4";
    case DataType::Uint4:
      return "uint4";
    case DataType::Invalid:
      break;
  }
  return "data type " + std::to_string(static_cast<int32_t>(type));
}

}  // namespace ec::tf
