// Small archives for tests: ZIP files of stored entries, and pickles written by hand.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/blob.h"

namespace ec::torch::testing {

using Records = std::vector<std::pair<std::string, std::string>>;  // name, content

inline uint32_t crc32(const std::string& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string zip(const Records& records) {
  const auto u16 = [](size_t v) { return little_endian(static_cast<uint16_t>(v)); };
  const auto u32 = [](size_t v) { return little_endian(static_cast<uint32_t>(v)); };
  std::string file, directory;
  for (const auto& [name, content] : records) {
    const std::string fields = u16(0) + u16(0) + u16(0) + u16(0) + u32(crc32(content)) +
                               u32(content.size()) + u32(content.size()) + u16(name.size());
    directory += "PK\x01\x02" + u16(20) + u16(20) + fields + u16(0) + u16(0) + u16(0) + u16(0) +
                 u32(0) + u32(file.size()) + name;
    file += "PK\x03\x04" + u16(20) + fields + u16(0) + name + content;
  }
  const std::string end = "PK\x05\x06" + u16(0) + u16(0) + u16(records.size()) +
                          u16(records.size()) + u32(directory.size()) + u32(file.size()) + u16(0);
  return file + directory + end;
}

inline Blob blob_of(const std::string& bytes) {
  return Blob::copy_of(std::span<const char>(bytes.data(), bytes.size()));
}

// --- pickles -------------------------------------------------------------------------------------

inline std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }
inline std::string text(const std::string& value) {
  return "X" + little_endian(static_cast<uint32_t>(value.size())) + value;
}
inline std::string integer(int32_t value) { return "J" + little_endian(value); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string body = "(";
  for (const std::string& item : items) body += item;
  return body + "t";
}
// A tensor of the given storage class over the record data/KEY.
inline std::string tensor(const std::string& storage, const std::string& key,
                          const std::vector<int32_t>& sizes, const std::vector<int32_t>& strides,
                          int32_t count, int32_t offset = 0) {
  std::vector<std::string> dims, steps;
  for (const int32_t size : sizes) dims.push_back(integer(size));
  for (const int32_t stride : strides) steps.push_back(integer(stride));
  const std::string id =
      tuple({text("storage"), global("torch", storage), text(key), text("cpu"), integer(count)}) +
      "Q";
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({id, integer(offset), tuple(dims), tuple(steps), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}
// An object of class __torch__.NAME with these attributes.
inline std::string object(const std::string& name,
                          const std::vector<std::pair<std::string, std::string>>& attributes) {
  std::string state = "}(";
  for (const auto& [key, value] : attributes) state += text(key) + value;
  return global("__torch__", name) + ")\x81" + state + "ub";
}

// A TorchScript archive whose root is an object of class M.
inline std::string script_archive(const std::string& code,
                                  std::vector<std::pair<std::string, std::string>> attributes = {},
                                  Records more = {}) {
  attributes.emplace_back("training", "\x89");
  Records records = {{"m/data.pkl", pickle(object("M", attributes))},
                     {"m/constants.pkl", pickle(")")},
                     {"m/code/__torch__.py", code},
                     {"m/version", "3\n"}};
  records.insert(records.end(), more.begin(), more.end());
  return zip(records);
}

}  // namespace ec::torch::testing
