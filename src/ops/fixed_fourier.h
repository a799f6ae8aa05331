// Fourier transforms of 16- and 32-bit fixed point numbers as TFLite Micro's signal library
// computes them (KISS FFT): mixed radix, every stage divides by its radix and rounds, sums wrap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ec {

template <class T>  // int16_t or int32_t
struct FixedComplex {
  T re = 0, im = 0;
};

// A complex transform of any length; the factors of the length are taken in the order 4, 2, 3, 5,
// ...
template <class T>
class FixedFourier {
 public:
  FixedFourier(size_t length, bool inverse);
  // Requires in.size() == out.size() == length; the two do not overlap.
  void run(std::span<const FixedComplex<T>> in, std::span<FixedComplex<T>> out) const;

 private:
  using Number = FixedComplex<T>;
  struct Stage {
    size_t radix, size;  // size: length of the transforms that the stage joins
  };
  void transform(std::span<Number> out, std::span<const Number> in, size_t first, size_t stride,
                 size_t stage) const;
  void join2(std::span<Number> out, size_t stride, size_t size) const;
  void join3(std::span<Number> out, size_t stride, size_t size) const;
  void join4(std::span<Number> out, size_t stride, size_t size) const;
  void join5(std::span<Number> out, size_t stride, size_t size) const;
  void join_any(std::span<Number> out, size_t stride, size_t size, size_t radix) const;

  bool inverse_;
  std::vector<Stage> stages_;
  std::vector<Number> roots_;
};

// A transform of real numbers of even length, forward to length / 2 + 1 frequencies or back.
template <class T>
class FixedRealFourier {
 public:
  FixedRealFourier(size_t length, bool inverse);
  void forward(std::span<const T> in, std::span<FixedComplex<T>> out) const;
  void backward(std::span<const FixedComplex<T>> in, std::span<T> out) const;

 private:
  FixedFourier<T> half_;  // of pairs of real numbers
  size_t size_;           // length / 2
  std::vector<FixedComplex<T>> roots_;
};

extern template class FixedFourier<int16_t>;
extern template class FixedFourier<int32_t>;
extern template class FixedRealFourier<int16_t>;
extern template class FixedRealFourier<int32_t>;

}  // namespace ec
