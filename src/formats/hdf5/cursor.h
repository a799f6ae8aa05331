// Little-endian fields one after the other, within bounds. A field beyond the end reads as zero and
// is remembered, so that a structure is read without ceremony and asked once at its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/file_bytes.h"
#include "support/result.h"

namespace ec::hdf5 {

inline Error corrupt(std::string message) {
  return Error(Code::CorruptFile, "HDF5: " + std::move(message))
      .hint("the file is damaged: save or copy it again");
}
inline Error unsupported(std::string message) {
  return Error(Code::UnsupportedFormat, "HDF5: " + std::move(message))
      .hint("copy the file with h5py's defaults, or save the model as .keras");
}

using Bytes = std::span<const std::byte>;

class Cursor {
 public:
  explicit Cursor(Bytes bytes, uint64_t at = 0) : bytes_(bytes), at_(at) {
    if (at > bytes.size()) fail();
  }
  // What is taken is read from the file. Requires that the file outlives the cursor.
  Cursor(const FileBytes& file, uint64_t at) : Cursor(file.span(), at) {
    if (!file.in_memory()) file_ = &file;
  }

  bool ok() const { return ok_; }
  uint64_t at() const { return at_; }
  uint64_t left() const { return ok_ ? bytes_.size() - at_ : 0; }
  bool has(uint64_t count) const { return ok_ && count <= bytes_.size() - at_; }
  void skip(uint64_t count) { has(count) ? void(at_ += count) : fail(); }
  // To the next multiple of 8 from `origin`.
  void align(uint64_t origin) { skip((8 - (at_ - origin) % 8) % 8); }

  uint64_t number(unsigned size) {
    const Bytes field = take(size);
    uint64_t value = 0;
    for (size_t i = field.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(field[i]);
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }

  Bytes take(uint64_t count) {
    if (!has(count)) return fail(), Bytes{};
    if (file_ != nullptr && !read(count)) return fail(), Bytes{};
    const Bytes taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  bool expect(std::string_view signature) { return text(signature.size()) == signature; }
  std::string_view text(uint64_t count) {
    const Bytes taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

 private:
  void fail() { ok_ = false; }
  // A cursor moves on, never back: what was read ends at `read_to_`.
  bool read(uint64_t count) {
    constexpr uint64_t kAhead = 512;
    if (at_ + count <= read_to_) return true;
    const uint64_t length = std::min(std::max(count, kAhead), bytes_.size() - at_);
    if (!file_->range(at_, length).ok()) return false;
    read_to_ = at_ + length;
    return true;
  }

  Bytes bytes_;
  const FileBytes* file_ = nullptr;  // null: the bytes are in memory
  uint64_t read_to_ = 0;             // of the file
  uint64_t at_ = 0;
  bool ok_ = true;
};

// The text up to the first zero byte.
inline std::string_view until_zero(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

}  // namespace ec::hdf5
