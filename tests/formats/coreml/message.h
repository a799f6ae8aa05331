// Protobuf messages by hand, so that tests state the bytes of the format themselves.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "support/blob.h"

namespace ec::coreml {

inline std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

class Message {
 public:
  Message& number(uint32_t field, uint64_t value) {
    bytes_ += varint(field << 3) + varint(value);
    return *this;
  }
  Message& bytes(uint32_t field, std::string_view value) {
    bytes_ += varint(field << 3 | 2) + varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return bytes(field, value.bytes_); }
  Message& real(uint32_t field, float value) {
    bytes_ += varint(field << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), 4);
    return *this;
  }
  const std::string& text() const { return bytes_; }
  Blob blob() const {
    return Blob::copy_of(std::as_bytes(std::span(bytes_.data(), bytes_.size())));
  }

 private:
  std::string bytes_;
};

// Parts of programs.
inline Message dimension(uint64_t size) { return Message().message(1, Message().number(1, size)); }
inline Message tensor_type(int32_t element, std::initializer_list<uint64_t> dims) {
  Message type;
  type.number(1, static_cast<uint64_t>(element)).number(2, dims.size());
  for (const uint64_t size : dims) type.message(3, dimension(size));
  return Message().message(1, type);
}
inline Message named_type(std::string_view name, const Message& type) {
  return Message().bytes(1, name).message(2, type);
}
inline Message entry(std::string_view key, const Message& value) {
  return Message().bytes(1, key).message(2, value);
}
// A value of a tensor type whose elements are in field `arm` of TensorValue.
inline Message tensor_value(const Message& type, uint32_t arm, std::string_view elements) {
  return Message().message(2, type).message(
      3, Message().message(1, Message().message(arm, Message().bytes(1, elements))));
}
inline Message text_value(std::string_view text) {
  return tensor_value(tensor_type(2, {}), 4, text);
}
inline Message argument(std::string_view name) {
  return Message().message(1, Message().bytes(1, name));
}
inline Message program(const Message& block, const Message& input) {
  const Message function =
      Message().message(1, input).bytes(2, "CoreML6").message(3, entry("CoreML6", block));
  return Message().number(1, 1).message(2, entry("main", function));
}
inline Message model(const Message& program) {
  return Message().number(1, 7).message(2, Message()).message(502, program);
}

}  // namespace ec::coreml
