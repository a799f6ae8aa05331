#include "support/blob.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ec {
namespace {

// Touching fresh memory page by page costs more than filling it. Pages that a large buffer has to
// itself may be large ones; the system refuses where it cannot, which is no error.
void use_huge_pages(void* data, size_t size) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (address + kHuge - 1) / kHuge * kHuge;
  const uintptr_t end = (address + size) / kHuge * kHuge;
  if (size < kHuge || begin >= end) return;
  (void)::madvise(static_cast<std::byte*>(data) + (begin - address), end - begin, MADV_HUGEPAGE);
}

}  // namespace

Buffer Buffer::allocate(size_t size) {
  Buffer buffer;
  if (size == 0) return buffer;
  if (size > SIZE_MAX - 2 * Blob::kAlignment) {
    buffer.size_ = size;
    return buffer;
  }
  // calloc keeps large zero pages untouched until they are used; the slack gives the alignment.
  void* raw = std::calloc(1, size + Blob::kAlignment);
  buffer.size_ = size;
  if (raw == nullptr) return buffer;
  use_huge_pages(raw, size);
  const auto address = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (address + Blob::kAlignment - 1) / Blob::kAlignment * Blob::kAlignment;
  std::shared_ptr<void> owner(raw, [](void* p) { std::free(p); });  // NOLINT: pairs with calloc
  buffer.data_ =
      std::shared_ptr<std::byte>(owner, static_cast<std::byte*>(raw) + (aligned - address));
  return buffer;
}

Blob Blob::copy_of(std::span<const std::byte> bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!buffer.ok() || bytes.empty()) return {};
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return std::move(buffer).to_blob();
}

Blob Blob::joined(std::span<const Blob> parts) {
  if (parts.size() == 1) return parts[0];
  size_t size = 0;
  for (const Blob& part : parts) size += part.size();
  Buffer buffer = Buffer::allocate(size);
  if (!buffer.ok() || size == 0) return {};
  size_t at = 0;
  for (const Blob& part : parts) {
    if (!part.empty()) std::memcpy(buffer.data() + at, part.bytes().data(), part.size());
    at += part.size();
  }
  return std::move(buffer).to_blob();
}

Blob Blob::aligned(size_t alignment) const {
  return is_aligned(alignment) ? *this : copy_of(bytes_);
}

bool Blob::operator==(const Blob& other) const {
  if (bytes_.size() != other.bytes_.size()) return false;
  return bytes_.empty() || bytes_.data() == other.bytes_.data() ||
         std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
}

}  // namespace ec
