// The smallest HDF5 files that readers take: objects with headers of version 2, groups that list
// their members, datasets whose elements stand in the header. Checksums are left at zero.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ec::fuzz {

class Hdf5Writer {
 public:
  enum class Type : uint8_t { F16, F32, F64, I8, I32, I64, U8 };

  // Elements as they stand in the file; groups on the way are made.
  void add_dataset(const std::string& path, Type type, const std::vector<int64_t>& shape,
                   const std::string& bytes) {
    Node& node = at(path);
    node.messages += message(0x01, space(shape)) + message(0x03, number(type)) +
                     message(0x08, "\x03" + std::string(1, '\0') + u16(bytes.size()) + bytes);
  }
  // Texts of one length each; an empty path is the root.
  void add_texts(const std::string& path, const std::string& name,
                 const std::vector<std::string>& texts, bool list) {
    size_t longest = 1;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    std::string bytes;
    for (const std::string& text : texts) bytes += text + std::string(longest - text.size(), '\0');
    const std::string type = std::string("\x13\0\0\0", 4) + u32(longest);
    const std::string shape =
        space(list ? std::vector<int64_t>{int64_t(texts.size())} : std::vector<int64_t>{});
    at(path).messages +=
        message(0x0c, std::string("\x03\0", 2) + u16(name.size() + 1) + u16(type.size()) +
                          u16(shape.size()) + std::string(1, '\0') + name + std::string(1, '\0') +
                          type + shape + bytes);
  }
  void add_group(const std::string& path) { at(path); }

  static size_t element_size(Type type) {
    const size_t sizes[] = {2, 4, 8, 1, 4, 8, 1};
    return sizes[static_cast<size_t>(type)];
  }

  std::string file() const {
    std::string objects;
    const uint64_t root = write(root_, objects);
    std::string head = "\x89HDF\r\n\x1a\n" + std::string("\x02\x08\x08\0", 4) + u64(0) +
                       u64(UINT64_MAX) + u64(kHead + objects.size()) + u64(root) + u32(0);
    return head + objects;
  }

 private:
  static constexpr uint64_t kHead = 48;
  struct Node {
    std::map<std::string, Node> members;
    std::string messages;
  };

  template <class T>
  static std::string little_endian(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }
  static std::string u16(size_t v) { return little_endian(static_cast<uint16_t>(v)); }
  static std::string u32(size_t v) { return little_endian(static_cast<uint32_t>(v)); }
  static std::string u64(uint64_t v) { return little_endian(v); }

  static std::string message(uint8_t kind, const std::string& body) {
    return static_cast<char>(kind) + u16(body.size()) + std::string(1, '\0') + body;
  }
  static std::string space(const std::vector<int64_t>& shape) {
    std::string bytes = {2, static_cast<char>(shape.size()), 0, shape.empty() ? '\0' : '\1'};
    for (const int64_t size : shape) bytes += u64(static_cast<uint64_t>(size));
    return bytes;
  }
  static std::string number(Type type) {
    const size_t size = element_size(type), bits = 8 * size;
    if (type > Type::F64) {
      const char is_signed = type == Type::U8 ? 0 : 8;
      return std::string{0x10, is_signed, 0, 0} + u32(size) + u16(0) + u16(bits);
    }
    const char exponent = size == 2 ? 5 : size == 4 ? 8 : 11;
    const char mantissa = size == 2 ? 10 : size == 4 ? 23 : 52;
    return std::string{0x11, 0x20, static_cast<char>(bits - 1), 0} + u32(size) + u16(0) +
           u16(bits) + std::string{mantissa, exponent, 0, mantissa} +
           u32((size_t{1} << (exponent - 1)) - 1);
  }

  Node& at(const std::string& path) {
    Node* node = &root_;
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      node = &node->members[path.substr(begin, end - begin)];
      begin = end + 1;
    }
    return *node;
  }

  static uint64_t write(const Node& node, std::string& objects) {
    std::string messages = node.messages;
    for (const auto& [name, member] : node.members) {
      const uint64_t address = write(member, objects);
      messages += message(
          0x06, std::string("\x01\0", 2) + static_cast<char>(name.size()) + name + u64(address));
    }
    const uint64_t own = kHead + objects.size();
    objects += std::string("OHDR\x02\x02", 6) + u32(messages.size()) + messages + u32(0);
    return own;
  }

  Node root_;
};

}  // namespace ec::fuzz
