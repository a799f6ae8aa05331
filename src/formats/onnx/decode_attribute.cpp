// Attributes: what they are, and the values they hold.
#include "formats/onnx/decode.h"

#include "formats/onnx/decode_parts.h"
#include "formats/onnx/fields.h"
#include "formats/protobuf/wire.h"

namespace ec::onnx {

using wire::guarded;
using wire::Reader;

namespace {

// Longest list of numbers or texts in an attribute. Data of this size belongs into a tensor.
constexpr size_t kMaxAttributeList = size_t{4} << 20;

// Files older than the type field say the type by the value that is present.
AttributeType type_of_field(uint32_t tag) {
  switch (tag) {
    case field::attribute::kFloat:
      return AttributeType::Float;
    case field::attribute::kInt:
      return AttributeType::Int;
    case field::attribute::kString:
      return AttributeType::String;
    case field::attribute::kTensor:
      return AttributeType::Tensor;
    case field::attribute::kGraph:
      return AttributeType::Graph;
    case field::attribute::kFloats:
      return AttributeType::Floats;
    case field::attribute::kInts:
      return AttributeType::Ints;
    case field::attribute::kStrings:
      return AttributeType::Strings;
    case field::attribute::kTensors:
      return AttributeType::Tensors;
    case field::attribute::kGraphs:
      return AttributeType::Graphs;
    default:
      return AttributeType::Undefined;
  }
}

uint32_t field_of_type(AttributeType type) {
  switch (type) {
    case AttributeType::Tensor:
      return field::attribute::kTensor;
    case AttributeType::Graph:
      return field::attribute::kGraph;
    case AttributeType::SparseTensor:
      return field::attribute::kSparseTensor;
    case AttributeType::TypeProto:
      return field::attribute::kTypeProto;
    case AttributeType::Tensors:
      return field::attribute::kTensors;
    case AttributeType::Graphs:
      return field::attribute::kGraphs;
    case AttributeType::SparseTensors:
      return field::attribute::kSparseTensors;
    case AttributeType::TypeProtos:
      return field::attribute::kTypeProtos;
    default:
      return 0;
  }
}

}  // namespace

Attribute read_attribute(Bytes message) {
  Attribute attribute;
  attribute.message = message;
  int32_t type = 0;
  AttributeType implied = AttributeType::Undefined;
  for (Reader r(message); r.next();) {
    if (const AttributeType seen = type_of_field(r.tag()); seen != AttributeType::Undefined)
      implied = seen;
    switch (r.tag()) {
      case field::attribute::kName:
        r.read(attribute.name);
        break;
      case field::attribute::kFloat:
        r.read(attribute.real);
        break;
      case field::attribute::kInt:
        r.read(attribute.integer);
        break;
      case field::attribute::kString:
        r.read(attribute.text);
        break;
      case field::attribute::kType:
        r.read(type);
        break;
      case field::attribute::kReference:
        r.read(attribute.reference);
        break;
      default:
        r.skip();
    }
  }
  attribute.type = type == 0 ? implied : static_cast<AttributeType>(type);
  return attribute;
}

namespace {

template <class T>
Result<std::vector<T>> attribute_list(const Attribute& attribute, uint32_t tag) {
  return guarded([&]() -> Result<std::vector<T>> {
    std::vector<T> values;
    for (Reader r(attribute.message); r.next();) {
      if (r.tag() != tag) {
        r.skip();
        continue;
      }
      if (!r.append(values, kMaxAttributeList))
        return too_long("attribute '" + std::string(attribute.name) + "'");
    }
    return values;
  });
}

}  // namespace

Result<std::vector<int64_t>> attribute_ints(const Attribute& attribute) {
  return attribute_list<int64_t>(attribute, field::attribute::kInts);
}
Result<std::vector<float>> attribute_floats(const Attribute& attribute) {
  return attribute_list<float>(attribute, field::attribute::kFloats);
}
Result<std::vector<std::string_view>> attribute_strings(const Attribute& attribute) {
  return attribute_list<std::string_view>(attribute, field::attribute::kStrings);
}
Result<std::vector<Bytes>> attribute_messages(const Attribute& attribute) {
  return attribute_list<Bytes>(attribute, field_of_type(attribute.type));
}

Result<Bytes> attribute_message(const Attribute& attribute) {
  EC_TRY(const std::vector<Bytes> all, attribute_messages(attribute));
  if (all.empty())
    return Error(Code::BadAttribute,
                 "attribute '" + std::string(attribute.name) + "' declares a value it lacks");
  return all.back();
}

}  // namespace ec::onnx
