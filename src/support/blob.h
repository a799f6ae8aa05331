// Blob: an immutable run of bytes with shared ownership. Constants, file mappings and their slices
// are all blobs, so cloning a graph or slicing a file copies no weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace ec {

class Blob {
 public:
  static constexpr size_t kAlignment = 64;

  Blob() = default;
  // A view of memory that `owner` keeps alive.
  Blob(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  static Blob copy_of(std::span<const std::byte> bytes);
  template <class T>
  static Blob copy_of(std::span<const T> values) {
    return copy_of(std::as_bytes(values));
  }

  // One blob with the bytes of all parts; the part itself where there is one. Empty where the
  // memory cannot be had.
  static Blob joined(std::span<const Blob> parts);

  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Holders of the bytes, this one included: 1 means that nobody else can see them change.
  long use_count() const { return owner_.use_count(); }
  // Requires offset + length <= size().
  Blob slice(size_t offset, size_t length) const {
    return {owner_, bytes_.subspan(offset, length)};
  }
  bool is_aligned(size_t alignment) const {
    return reinterpret_cast<uintptr_t>(bytes_.data()) % alignment == 0;
  }
  // This blob when aligned for any element type, else an aligned copy.
  Blob aligned(size_t alignment = 16) const;
  bool operator==(const Blob& other) const;  // by content

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

// Growable-once, writable, 64-byte aligned memory that becomes a Blob. allocate() returns an empty
// buffer when the memory cannot be had; ask ok().
class Buffer {
 public:
  Buffer() = default;
  static Buffer allocate(size_t size);  // zero-filled
  bool ok() const { return data_ != nullptr || size_ == 0; }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  Blob to_blob() && { return {data_, {data_.get(), size_}}; }

 private:
  std::shared_ptr<std::byte> data_;
  size_t size_ = 0;
};

}  // namespace ec
