#include "frontend/coreml/constant.h"

#include "frontend/coreml/importer.h"
#include "frontend/coreml/types.h"
#include "support/checked.h"

namespace ec::mil {

Blob unpack_bits(const Blob& packed, int bits, bool is_signed, int64_t count) {
  const auto bytes = packed.bytes();
  if (count < 0 || bits < 1 || bits > 8 ||
      static_cast<uint64_t>(count) > bytes.size() * uint64_t{8} / static_cast<uint64_t>(bits))
    return {};
  Buffer out = Buffer::allocate(static_cast<size_t>(count));
  if (!out.ok()) return {};
  const auto width = static_cast<unsigned>(bits);
  const unsigned mask = (1u << width) - 1, sign = 1u << (width - 1);
  size_t at = 0;  // in bits
  for (int64_t i = 0; i < count; ++i, at += width) {
    unsigned two = static_cast<unsigned>(bytes[at / 8]);
    if (at / 8 + 1 < bytes.size()) two |= static_cast<unsigned>(bytes[at / 8 + 1]) << 8;
    unsigned value = two >> at % 8 & mask;
    if (is_signed && (value & sign) != 0) value |= ~mask;
    out.data()[i] = static_cast<std::byte>(value & 0xFF);
  }
  return std::move(out).to_blob();
}

Result<StoredTensor> stored_tensor(const coreml::Value& value) {
  const auto type = declared_type(value.type, "");
  if (!type)
    return Error(Code::UnsupportedType,
                 "a constant of type " + type_text(value.type) + " is no tensor of numbers");
  const auto count = checked_extent(value.type.dims, 1);
  if (value.type.variadic || !count)
    return Error(Code::CorruptFile, "a constant has no size that is known");
  int64_t elements = *count;
  for (const int64_t dim : value.type.dims)
    if (dim == 0) elements = 0;
  const int bits = coreml::bits_of(value.type.element);
  const auto needed = (static_cast<uint64_t>(elements) * static_cast<uint64_t>(bits) + 7) / 8;
  if (value.data.size() != needed)
    return Error(Code::BadTensorData, "a constant " + type_text(value.type) + " has " +
                                          std::to_string(value.data.size()) + " bytes where " +
                                          std::to_string(needed) + " are needed");
  StoredTensor stored{*type, value.data, false};
  if (value.type.element == coreml::DataType::Bool)
    for (const std::byte b : value.data.bytes())
      if (b > std::byte{1}) return Error(Code::BadTensorData, "a boolean is neither 0 nor 1");
  if (bits >= 8) return stored;
  stored.data =
      unpack_bits(value.data, bits, value.type.element == coreml::DataType::Int4, elements);
  stored.copied = true;
  if (stored.data.size() != static_cast<size_t>(elements))
    return Error(Code::OutOfMemory, "not enough memory for the weights");
  return stored;
}

Result<ec::Tensor*> Importer::constant(Site& site, const coreml::Value& value,
                                       const std::string& name) {
  if (const auto known = site.constants.find(&value); known != site.constants.end())
    return known->second;
  const int bits = coreml::bits_of(value.type.element);
  if (bits < 8 && bits > 0 && !may_expand(value.data.size() * 8 / static_cast<size_t>(bits)))
    return Error(Code::TooLarge, "the packed weights expand to more than the files justify");
  EC_TRY(StoredTensor stored, stored_tensor(value));
  ec::Tensor* made = site.graph.add_constant(name, std::move(stored.type), std::move(stored.data));
  site.constants.emplace(&value, made);
  return made;
}

}  // namespace ec::mil
