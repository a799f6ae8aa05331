// Values and their types. Elements go into the kind of list that Core ML's own writer uses for
// their type.
#include <cstring>
#include <ranges>
#include <vector>

#include "formats/coreml/encode_parts.h"
#include "formats/coreml/fields.h"

namespace ec::coreml {
namespace {

std::string dimension(int64_t size) {
  MessageWriter outer, inner;
  if (size == kUnknownSize) {
    outer.message(field::dimension::kUnknown, "");
  } else {
    inner.number(field::constant_dimension::kSize, size);
    outer.message(field::dimension::kConstant, std::move(inner).take());
  }
  return std::move(outer).take();
}

std::string tensor_type(const ValueType& type) {
  MessageWriter m;
  m.number(field::tensor_type::kDataType, static_cast<int64_t>(type.element));
  if (type.variadic) {
    MessageWriter unknown, dim;
    unknown.number(field::unknown_dimension::kVariadic, 1);
    dim.message(field::dimension::kUnknown, std::move(unknown).take());
    m.number(field::tensor_type::kRank, -1);
    m.message(field::tensor_type::kDimensions, std::move(dim).take());
    return std::move(m).take();
  }
  m.number(field::tensor_type::kRank, static_cast<int64_t>(type.dims.size()));
  for (const int64_t size : type.dims) m.message(field::tensor_type::kDimensions, dimension(size));
  return std::move(m).take();
}

std::string nested_types(const ValueType& type) {
  MessageWriter m;
  for (size_t i = 0; i < type.nested.size(); ++i) {
    // Dictionaries have a key and a value; all others repeat the first field.
    const auto field = type.kind == ValueType::Kind::Dictionary && i == 1
                           ? uint32_t{field::dictionary_type::kValue}
                           : uint32_t{field::tuple_type::kTypes};
    m.message(field, encode_value_type(type.nested[i]));
  }
  if (type.kind == ValueType::Kind::List)
    m.message(field::list_type::kLength, dimension(type.list_length));
  return std::move(m).take();
}
static_assert(uint32_t{field::list_type::kType} == uint32_t{field::tuple_type::kTypes} &&
              uint32_t{field::state_type::kWrapped} == uint32_t{field::tuple_type::kTypes} &&
              uint32_t{field::dictionary_type::kKey} == uint32_t{field::tuple_type::kTypes});

uint32_t arm_of(DataType type) {
  switch (type) {
    case DataType::Float32:
      return field::tensor_value::kFloats;
    case DataType::Float64:
      return field::tensor_value::kDoubles;
    case DataType::Int32:
    case DataType::Int16:
    case DataType::UInt16:
      return field::tensor_value::kInts;
    case DataType::Int64:
    case DataType::UInt64:
      return field::tensor_value::kLongInts;
    case DataType::Bool:
      return field::tensor_value::kBools;
    case DataType::String:
      return field::tensor_value::kStrings;
    default:
      return field::tensor_value::kBytes;
  }
}

// The numbers of a list one by one: a copy of all as 64 bits may be eight times as large.
template <class T>
void add_varints(MessageWriter& m, std::span<const std::byte> bytes) {
  const auto number = [bytes](size_t i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof stored);
    return static_cast<int64_t>(stored);
  };
  const auto numbers =
      std::views::iota(size_t{0}, bytes.size() / sizeof(T)) | std::views::transform(number);
  m.raw().add_packed_int64(field::repeated::kValues, numbers.begin(), numbers.end());
}

// The list of elements, without the message around it.
std::string elements(const Value& value) {
  MessageWriter m;
  const auto bytes = value.data.bytes();
  const std::string_view raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (value.type.element) {
    case DataType::String:
      for (const std::string& text : value.strings) m.message(field::repeated::kValues, text);
      break;
    case DataType::Int32:
      add_varints<int32_t>(m, bytes);
      break;
    case DataType::Int16:
      add_varints<int16_t>(m, bytes);
      break;
    case DataType::UInt16:
      add_varints<uint16_t>(m, bytes);
      break;
    case DataType::Int64:
    case DataType::UInt64:
      add_varints<int64_t>(m, bytes);
      break;
    case DataType::Bool:
      add_varints<uint8_t>(m, bytes);
      break;
    default:  // packed floats are their bytes one after the other, too
      m.text(field::repeated::kValues, raw);
  }
  return std::move(m).take();
}

std::string immediate(const Value& value) {
  MessageWriter m, inner;
  switch (value.type.kind) {
    case ValueType::Kind::Tensor:
      inner.message(arm_of(value.type.element), elements(value));
      m.message(field::immediate::kTensor, std::move(inner).take());
      break;
    case ValueType::Kind::Dictionary:
      for (size_t i = 0; i + 1 < value.items.size(); i += 2)
        inner.entry(field::repeated::kValues, encode_value(value.items[i]),
                    encode_value(value.items[i + 1]));
      m.message(field::immediate::kDictionary, std::move(inner).take());
      break;
    default:
      for (const Value& item : value.items)
        inner.message(field::repeated::kValues, encode_value(item));
      m.message(value.type.kind == ValueType::Kind::List ? uint32_t{field::immediate::kList}
                                                         : uint32_t{field::immediate::kTuple},
                std::move(inner).take());
  }
  return std::move(m).take();
}

}  // namespace

void MessageWriter::entry(uint32_t field, std::string_view key, std::string_view value) {
  MessageWriter inner;
  inner.message(field::entry::kKey, key);
  inner.message(field::entry::kValue, value);
  message(field, std::move(inner).take());
}

std::string encode_value_type(const ValueType& type) {
  using Kind = ValueType::Kind;
  constexpr uint32_t kFields[] = {field::value_type::kTensor, field::value_type::kList,
                                  field::value_type::kTuple, field::value_type::kDictionary,
                                  field::value_type::kState};
  MessageWriter m;
  m.message(kFields[static_cast<size_t>(type.kind)],
            type.kind == Kind::Tensor ? tensor_type(type) : nested_types(type));
  return std::move(m).take();
}

std::string encode_value(const Value& value) {
  MessageWriter m;
  m.message(field::value::kType, encode_value_type(value.type));
  if (!value.weight) {
    m.message(field::value::kImmediate, immediate(value));
    return std::move(m).take();
  }
  MessageWriter ref;
  ref.text(field::blob_file::kFileName, value.weight->file);
  ref.number(field::blob_file::kOffset, static_cast<int64_t>(value.weight->offset));
  m.message(field::value::kBlobFile, std::move(ref).take());
  return std::move(m).take();
}

}  // namespace ec::coreml
