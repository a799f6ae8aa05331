#include "formats/tflite/flex_map.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>

namespace ec::tflite {
namespace {

flexbuffers::Reference root_of(const Blob& bytes) {
  return flexbuffers::GetRoot(reinterpret_cast<const uint8_t*>(bytes.bytes().data()), bytes.size());
}

flexbuffers::Reference find(const Blob& bytes, const char* key) {
  return root_of(bytes).AsMap()[key];
}

}  // namespace

Result<FlexMap> FlexMap::open(const Blob& given) {
  const Blob bytes = given.aligned();
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.bytes().data());
  std::vector<uint8_t> visited;  // shared values are walked once
  if (bytes.size() < 3 || !flexbuffers::VerifyBuffer(begin, bytes.size(), &visited))
    return Error(Code::CorruptFile, "the options of a custom operator are no sound FlexBuffer");
  if (!root_of(bytes).IsMap())
    return Error(Code::CorruptFile, "the options of a custom operator are no map");
  return FlexMap(bytes);
}

bool FlexMap::has(const char* key) const { return !find(bytes_, key).IsNull(); }

std::optional<int64_t> FlexMap::integer(const char* key) const {
  const auto value = find(bytes_, key);
  if (value.IsBool()) return value.AsBool() ? 1 : 0;
  return value.IsIntOrUint() ? std::optional(value.AsInt64()) : std::nullopt;
}

std::optional<double> FlexMap::number(const char* key) const {
  const auto value = find(bytes_, key);
  return value.IsNumeric() ? std::optional(value.AsDouble()) : std::nullopt;
}

std::optional<std::string> FlexMap::text(const char* key) const {
  const auto value = find(bytes_, key);
  return value.IsString() ? std::optional(value.AsString().str()) : std::nullopt;
}

std::optional<Blob> FlexMap::bytes(const char* key) const {
  const auto value = find(bytes_, key);
  const auto slice = [&](const void* begin, size_t length) {
    const auto* at = static_cast<const std::byte*>(begin);
    return bytes_.slice(static_cast<size_t>(at - bytes_.bytes().data()), length);
  };
  if (value.IsString()) return slice(value.AsString().c_str(), value.AsString().length());
  if (value.IsBlob()) return slice(value.AsBlob().data(), value.AsBlob().size());
  return std::nullopt;
}

std::optional<std::vector<int64_t>> FlexMap::integers(const char* key) const {
  const auto value = find(bytes_, key);
  if (!value.IsAnyVector()) return std::nullopt;
  std::vector<int64_t> list;
  const auto add = [&](const auto& vector) {
    for (size_t i = 0; i < std::min<size_t>(vector.size(), 1000); ++i)
      list.push_back(vector[i].AsInt64());
  };
  if (value.IsTypedVector())
    add(value.AsTypedVector());
  else if (value.IsFixedTypedVector())
    add(value.AsFixedTypedVector());
  else
    add(value.AsVector());
  return list;
}

size_t FlexMap::length(const char* key) const {
  const auto value = find(bytes_, key);
  return value.IsVector() ? value.AsVector().size() : 0;
}

}  // namespace ec::tflite
