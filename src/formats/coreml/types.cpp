// Element types by name and width, and the small lookups of the program's parts.
#include <algorithm>

#include "formats/coreml/model.h"

namespace ec::coreml {
namespace {

struct TypeRow {
  DataType type;
  int bits;
  std::string_view name;
};
constexpr TypeRow kTypes[] = {
    {DataType::Bool, 8, "bool"},
    {DataType::String, 0, "string"},
    {DataType::Float16, 16, "fp16"},
    {DataType::Float32, 32, "fp32"},
    {DataType::Float64, 64, "fp64"},
    {DataType::BFloat16, 16, "bf16"},
    {DataType::Int8, 8, "int8"},
    {DataType::Int16, 16, "int16"},
    {DataType::Int32, 32, "int32"},
    {DataType::Int64, 64, "int64"},
    {DataType::Int4, 4, "int4"},
    {DataType::UInt8, 8, "uint8"},
    {DataType::UInt16, 16, "uint16"},
    {DataType::UInt32, 32, "uint32"},
    {DataType::UInt64, 64, "uint64"},
    {DataType::UInt4, 4, "uint4"},
    {DataType::UInt2, 2, "uint2"},
    {DataType::UInt1, 1, "uint1"},
    {DataType::UInt6, 6, "uint6"},
    {DataType::UInt3, 3, "uint3"},
    {DataType::Float8E4M3FN, 8, "fp8e4m3fn"},
    {DataType::Float8E5M2, 8, "fp8e5m2"},
};

const TypeRow* row_of(DataType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

template <class List>
auto find_named(const List& list, std::string_view name) -> decltype(&list.front().second) {
  const auto found = std::lower_bound(
      list.begin(), list.end(), name,
      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  return found != list.end() && found->first == name ? &found->second : nullptr;
}

}  // namespace

int bits_of(DataType type) {
  const TypeRow* row = row_of(type);
  return row == nullptr ? 0 : row->bits;
}

std::string_view name_of(DataType type) {
  const TypeRow* row = row_of(type);
  return row == nullptr ? "unknown" : row->name;
}

std::optional<DataType> type_named(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return row.type;
  return std::nullopt;
}

ValueType ValueType::tensor(DataType element, std::vector<int64_t> dims) {
  ValueType type;
  type.element = element;
  type.dims = std::move(dims);
  return type;
}

const std::vector<Binding>* Operation::input(std::string_view parameter) const {
  return find_named(inputs, parameter);
}

const Value* Operation::attribute(std::string_view name) const {
  return find_named(attributes, name);
}

}  // namespace ec::coreml
