// Element conversion for reference kernels. A kernel computes in one of four types and reads and
// writes any storage type through these; when the storage type is the compute type nothing is
// copied.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "ops/value.h"

namespace ec {

struct SmallFloatFormat;

// Fills `out` (count() elements) with the view's elements converted to C: float, double, int64_t or
// uint64_t. Bool reads as 0 and 1.
template <class C>
void load(const ConstView& view, std::span<C> out);
// Stores converted elements. Floats round to nearest even into small floats; a float that goes into
// an integer truncates and saturates; integers wrap, as in two's complement arithmetic; bool: != 0.
template <class C>
void store(const MutableView& view, std::span<const C> values);

extern template void load<float>(const ConstView&, std::span<float>);
extern template void load<double>(const ConstView&, std::span<double>);
extern template void load<int64_t>(const ConstView&, std::span<int64_t>);
extern template void load<uint64_t>(const ConstView&, std::span<uint64_t>);
extern template void store<float>(const MutableView&, std::span<const float>);
extern template void store<double>(const MutableView&, std::span<const double>);
extern template void store<int64_t>(const MutableView&, std::span<const int64_t>);
extern template void store<uint64_t>(const MutableView&, std::span<const uint64_t>);

// Elements of a view as C, without a copy where the types agree.
template <class C>
class Reader {
 public:
  explicit Reader(const ConstView& view) {
    if (view.dtype == dtype_of<C>()) {
      values_ = view.as<C>();
    } else {
      owned_.resize(static_cast<size_t>(view.count()));
      load<C>(view, owned_);
      values_ = owned_;
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  const C& operator[](size_t i) const { return values_[i]; }
  std::span<const C> values() const { return values_; }
  const C* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<C> owned_;
  std::span<const C> values_;
};

// Elements to write as C; commit() stores them into the view (nothing to do where the types agree).
template <class C>
class Writer {
 public:
  explicit Writer(const MutableView& view) : view_(view) {
    if (view.dtype == dtype_of<C>()) {
      values_ = view.as<C>();
    } else {
      owned_.resize(static_cast<size_t>(view.count()));
      values_ = owned_;
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  C& operator[](size_t i) { return values_[i]; }
  std::span<C> values() { return values_; }
  C* data() { return values_.data(); }
  size_t size() const { return values_.size(); }
  void commit() {
    if (!owned_.empty()) store<C>(view_, values_);
  }

 private:
  MutableView view_;
  std::vector<C> owned_;
  std::span<C> values_;
};

// Calls f with a value of the compute type for a storage type: double for f64, float for all other
// floats, uint64_t for u64, int64_t for other integers and bool.
template <class F>
decltype(auto) with_compute_type(DType dtype, F&& f) {
  if (dtype == DType::F64) return f(double{});
  if (is_float(dtype)) return f(float{});
  if (dtype == DType::U64) return f(uint64_t{});
  return f(int64_t{});
}
// The same for ops on floats only: integers compute in double.
template <class F>
decltype(auto) with_float_type(DType dtype, F&& f) {
  if (is_float(dtype) && dtype != DType::F64) return f(float{});
  return f(double{});
}

// The format of an 8-bit float type that can hold infinity or NaN; null for all other types.
const SmallFloatFormat* small_float_format(DType dtype);
// As store(), for those types, without saturation: out of range becomes infinity or NaN.
void store_unsaturated(const MutableView& view, std::span<const float> values);

// Saturating conversion of a float value to an integer type's range; NaN gives 0.
int64_t saturate_to_int64(double value);

// Row-major strides of a shape.
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);
// Strides of `shape` when read as the broadcast shape `target`: 0 where a dimension is repeated.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> shape,
                                       std::span<const int64_t> target);

// Walks all indices of a shape in row-major order; offsets follow the given strides.
class IndexWalker {
 public:
  explicit IndexWalker(std::span<const int64_t> shape)
      : shape_(shape.begin(), shape.end()), index_(shape.size(), 0) {}
  const std::vector<int64_t>& index() const { return index_; }
  // Advances; false after the last index.
  bool next() {
    for (size_t d = shape_.size(); d-- > 0;) {
      if (++index_[d] < shape_[d]) return true;
      index_[d] = 0;
    }
    return false;
  }
  int64_t offset(std::span<const int64_t> strides) const {
    int64_t sum = 0;
    for (size_t d = 0; d < index_.size(); ++d) sum += index_[d] * strides[d];
    return sum;
  }

 private:
  std::vector<int64_t> shape_, index_;
};

}  // namespace ec
