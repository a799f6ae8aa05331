// Random data, naive references in double and the list of instruction sets for kernel tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/aligned_buffer.h"
#include "runtime/kernels/kernel_table.h"

namespace ec::kernels {

inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (isa_available(isa)) isas.push_back(isa);
  return isas;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  std::vector<float> floats(int64_t count, float low = -1.0F, float high = 1.0F) {
    std::uniform_real_distribution<float> values(low, high);
    std::vector<float> v(static_cast<size_t>(count));
    for (float& x : v) x = values(engine_);
    return v;
  }

 private:
  std::mt19937 engine_;
};

/// Every value within `tolerance` of the largest reference value.
inline void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                         const std::string& what, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1e-30;
  for (const double w : want) largest = std::max(largest, std::fabs(w));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance * largest) << what << " at " << i;
  }
}

/// Floats that fault the test when a kernel writes outside them.
class Guarded {
 public:
  explicit Guarded(int64_t count) : data_(static_cast<size_t>(count) + 2 * kGuard, kMark) {}
  float* data() { return data_.data() + kGuard; }
  std::vector<float> values() const { return {data_.begin() + kGuard, data_.end() - kGuard}; }
  bool intact() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (data_[i] != kMark || data_[data_.size() - 1 - i] != kMark) return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr float kMark = 12345.0F;
  std::vector<float> data_;
};

}  // namespace ec::kernels
