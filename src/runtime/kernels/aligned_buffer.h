// A 64-byte aligned block of floats: packed weights, scratch memory, the tensor arena.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace ec::kernels {

inline constexpr size_t kAlignment = 64;

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  /// Zero-filled.
  explicit AlignedBuffer(size_t count) : size_(count) {
    if (count == 0) return;
    data_.reset(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(kAlignment))));
    std::memset(static_cast<void*>(data_.get()), 0, count * sizeof(T));
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace ec::kernels
