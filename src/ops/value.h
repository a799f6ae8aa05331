// Runtime tensors as kernels see them: views of memory with a static shape, and owned values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/type.h"
#include "support/blob.h"

namespace ec {

// Whole shapes here are checked and have room; some sizes of an empty tensor may not, and
// count as the largest number.
int64_t count_elements(std::span<const int64_t> shape);

struct ConstView {
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  const std::byte* data = nullptr;
  const QuantParams* quant = nullptr;

  int64_t count() const { return count_elements(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * element_size(dtype); }
  size_t rank() const { return shape.size(); }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), static_cast<size_t>(count())};
  }
};

struct MutableView {
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  std::byte* data = nullptr;
  const QuantParams* quant = nullptr;

  int64_t count() const { return count_elements(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * element_size(dtype); }
  size_t rank() const { return shape.size(); }
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data), static_cast<size_t>(count())};
  }
  operator ConstView() const {
    return {dtype, shape, data, quant};
  }  // NOLINT: a view may be narrowed
};

// An owned tensor: immutable bytes with type and shape.
struct Value {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  Blob data;

  Value() = default;
  Value(DType d, std::vector<int64_t> s, Blob b)
      : dtype(d), shape(std::move(s)), data(std::move(b)) {}
  template <class T>
  static Value of(std::vector<int64_t> shape, std::span<const T> elements) {
    return Value(dtype_of<T>(), std::move(shape), Blob::copy_of(elements));
  }
  ConstView view() const { return {dtype, shape, data.bytes().data(), nullptr}; }
  TensorType type() const { return TensorType(dtype, Shape::of(shape)); }
  template <class T>
  std::span<const T> as() const {
    return view().as<T>();
  }
};

}  // namespace ec
