// A 64-byte aligned block of floats: packed weights, scratch memory, the tensor arena.
// Large ones take large pages: packing weights is otherwise mostly the making of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "support/blob.h"

namespace ec::kernels {

inline constexpr size_t kAlignment = 64;

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  /// Zero-filled.
  explicit AlignedBuffer(size_t count) : size_(count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    memory_ = Buffer::allocate(count * sizeof(T));
    if (!memory_.ok()) throw std::bad_alloc();
  }
  AlignedBuffer(AlignedBuffer&&) noexcept = default;
  AlignedBuffer& operator=(AlignedBuffer&&) noexcept = default;

  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }

 private:
  static_assert(kAlignment <= Blob::kAlignment && std::is_trivial_v<T>);
  Buffer memory_;
  size_t size_ = 0;
};

}  // namespace ec::kernels
