// Tensors and types.
#include "formats/onnx/decode.h"

#include "formats/onnx/decode_parts.h"
#include "formats/onnx/fields.h"
#include "formats/protobuf/wire.h"

namespace ec::onnx {

using wire::for_each_message;
using wire::guarded;
using wire::Reader;

Error too_long(std::string_view what) {
  return Error(Code::TooLarge, std::string(what) + " is longer than the limit");
}

StringEntry read_entry(Bytes message) {
  StringEntry entry;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::entry::kKey)
      r.read(entry.key);
    else if (r.tag() == field::entry::kValue)
      r.read(entry.value);
    else
      r.skip();
  }
  return entry;
}

Result<Tensor> decode_tensor(Bytes message) {
  return guarded([&]() -> Result<Tensor> {
    Tensor tensor;
    tensor.message = message;
    int32_t data_type = 0, location = 0;
    for (Reader r(message); r.next();) {
      Bytes nested;
      switch (r.tag()) {
        case field::tensor::kDims:
          if (!r.append(tensor.dims, kMaxRank)) return too_long("a tensor's list of dimensions");
          break;
        case field::tensor::kDataType:
          r.read(data_type);
          break;
        case field::tensor::kName:
          r.read(tensor.name);
          break;
        case field::tensor::kRawData:
          if (r.is_message()) tensor.raw_data.emplace();
          r.read(tensor.raw_data ? *tensor.raw_data : nested);
          break;
        case field::tensor::kExternalData:
          r.read(nested);
          if (tensor.external_data.size() >= kMaxRank)
            return too_long("a tensor's external data list");
          tensor.external_data.push_back(read_entry(nested));
          break;
        case field::tensor::kDataLocation:
          r.read(location);
          break;
        default:
          r.skip();
      }
    }
    tensor.data_type = static_cast<DataType>(data_type);
    tensor.external = location == 1;
    return tensor;
  });
}

Result<SparseTensor> decode_sparse_tensor(Bytes message) {
  return guarded([&]() -> Result<SparseTensor> {
    SparseTensor sparse;
    Bytes values, indices;
    for (Reader r(message); r.next();) {
      if (r.tag() == field::sparse_tensor::kValues) {
        r.read(values);
      } else if (r.tag() == field::sparse_tensor::kIndices) {
        r.read(indices);
      } else if (r.tag() == field::sparse_tensor::kDims) {
        if (!r.append(sparse.dims, kMaxRank)) return too_long("a tensor's list of dimensions");
      } else {
        r.skip();
      }
    }
    EC_TRY(sparse.values, decode_tensor(values));
    EC_TRY(sparse.indices, decode_tensor(indices));
    return sparse;
  });
}

namespace {

Dimension read_dimension(Bytes message) {
  Dimension dim;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::dimension::kValue && r.is_varint()) {
      r.read(dim.value.emplace());
      dim.param = {};
    } else if (r.tag() == field::dimension::kParam) {
      r.read(dim.param);
      dim.value.reset();
    } else {
      r.skip();
    }
  }
  return dim;
}

Status read_tensor_type(Bytes message, Type& type) {
  int32_t element = 0;
  Bytes shape;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::tensor_type::kElement) {
      r.read(element);
    } else if (r.tag() == field::tensor_type::kShape) {
      type.has_shape = type.has_shape || r.is_message();
      r.read(shape);
    } else {
      r.skip();
    }
  }
  type.element = static_cast<DataType>(element);
  bool long_shape = false;
  for_each_message(shape, [&](uint32_t tag, Bytes nested) {
    if (tag != field::shape::kDim) return;
    long_shape = long_shape || type.dims.size() >= kMaxRank;
    if (!long_shape) type.dims.push_back(read_dimension(nested));
  });
  if (long_shape) return too_long("a type's list of dimensions");
  return {};
}

Type::Kind kind_of_field(uint32_t tag) {
  switch (tag) {
    case field::type::kTensor:
      return Type::Kind::Tensor;
    case field::type::kSequence:
      return Type::Kind::Sequence;
    case field::type::kMap:
      return Type::Kind::Map;
    case field::type::kSparseTensor:
      return Type::Kind::SparseTensor;
    case field::type::kOptional:
      return Type::Kind::Optional;
    case field::type::kOpaque:
      return Type::Kind::Opaque;
    default:
      return Type::Kind::None;
  }
}

}  // namespace

Result<Type> decode_type(Bytes message) {
  return guarded([&]() -> Result<Type> {
    Type type;
    Bytes body;
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      const Type::Kind kind = kind_of_field(tag);
      if (kind == Type::Kind::None) return;
      type.kind = kind;
      body = nested;
    });
    if (type.kind == Type::Kind::Tensor) EC_CHECK_OK(read_tensor_type(body, type));
    if (type.kind == Type::Kind::Sequence || type.kind == Type::Kind::Optional)
      for_each_message(body, [&](uint32_t tag, Bytes nested) {
        if (tag == 1) type.inner = nested;  // elem_type of both
      });
    return type;
  });
}

}  // namespace ec::onnx
