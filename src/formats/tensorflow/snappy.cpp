#include "formats/tensorflow/snappy.h"

#include <cstdint>

namespace ec::tf {
namespace {

// One after the other; fails at the end of the input.
class Cursor {
 public:
  explicit Cursor(std::string_view data) : data_(data) {}
  bool at_end() const { return data_.empty(); }
  size_t left() const { return data_.size(); }
  // A little-endian number of `bytes` bytes. Requires left() >= bytes.
  uint32_t number(size_t bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= static_cast<uint32_t>(static_cast<unsigned char>(data_[i])) << (8 * i);
    data_.remove_prefix(bytes);
    return value;
  }
  std::string_view take(size_t bytes) {
    const std::string_view part = data_.substr(0, bytes);
    data_.remove_prefix(bytes);
    return part;
  }

 private:
  std::string_view data_;
};

Error damaged(const char* what) {
  return Error(Code::CorruptFile, std::string("packed block: ") + what);
}

}  // namespace

Result<std::string> unpack_snappy(std::string_view packed, size_t max) {
  Cursor in(packed);
  // The unpacked length, 7 bits at a time.
  uint64_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (in.at_end() || shift > 28) return damaged("no length");
    const uint32_t byte = in.number(1);
    length |= uint64_t{byte & 0x7f} << shift;
    if ((byte & 0x80) == 0) break;
  }
  // A copy of 3 bytes gives at most 64.
  if (length > max || length / 22 > packed.size()) return damaged("too long");
  std::string out;
  out.reserve(length);
  while (!in.at_end()) {
    const uint32_t tag = in.number(1);
    size_t count = (tag >> 2) + 1;
    if ((tag & 3) == 0) {  // literal bytes
      if (count > 60) {
        const size_t bytes = count - 60;
        if (in.left() < bytes) return damaged("cut off");
        count = size_t{in.number(bytes)} + 1;
      }
      if (in.left() < count || length - out.size() < count) return damaged("cut off");
      out += in.take(count);
      continue;
    }
    size_t offset = 0;
    if ((tag & 3) == 1) {
      if (in.left() < 1) return damaged("cut off");
      count = ((tag >> 2) & 7) + 4;
      offset = (size_t{tag >> 5} << 8) | in.number(1);
    } else {
      const size_t bytes = (tag & 3) == 2 ? 2 : 4;
      if (in.left() < bytes) return damaged("cut off");
      offset = in.number(bytes);
    }
    if (offset == 0 || offset > out.size() || length - out.size() < count)
      return damaged("a copy from outside");
    // Source and target may overlap: byte by byte.
    for (size_t i = 0; i < count; ++i) out += out[out.size() - offset];
  }
  if (out.size() != length) return damaged("another length than it says");
  return out;
}

}  // namespace ec::tf
