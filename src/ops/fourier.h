// One-dimensional complex Fourier transform of any length, in double precision.
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <vector>

namespace ec {

using Complex = std::complex<double>;

// Lengths with small prime factors go by mixed radix; others through a convolution (Bluestein), so
// that every length costs n log n.
class FourierTransform {
 public:
  FourierTransform(size_t length, bool inverse);
  // In place; requires values.size() == length. The inverse divides by the length.
  void run(std::span<Complex> values) const;

 private:
  void run_radix(std::span<Complex> values) const;
  void run_bluestein(std::span<Complex> values) const;

  size_t length_;
  bool inverse_;
  std::vector<size_t> factors_;  // of the length, when all are small
  std::vector<size_t> order_;    // where each element of the first stage comes from
  std::vector<Complex> roots_;   // exp(-+ 2 pi i k / length)
  // Bluestein: exp(-+ pi i k^2 / length), its spectrum, and the transforms of the padded length.
  std::vector<Complex> chirp_, chirp_spectrum_;
  std::unique_ptr<const FourierTransform> padded_, padded_inverse_;
};

}  // namespace ec
