// Functions of one quantised number as tables: 256 entries for 8 bits; 513 points with linear
// interpolation for 16 bits.
#pragma once

#include <array>
#include <cmath>

#include "ops/quantized/params.h"

namespace ec::quantized {

// Entries in the order of the stored values' bytes.
template <class T, class F>
std::array<T, 256> make_table8(const Params& in, const Params& out, F&& f) {
  std::array<T, 256> table{};
  const auto in_scale = static_cast<float>(in.scale);
  const float inverse = 1 / static_cast<float>(out.scale);
  for (int32_t v = std::numeric_limits<T>::min(); v <= std::numeric_limits<T>::max(); ++v) {
    const float y = f(in_scale * static_cast<float>(v - in.zero_point));
    const float q = std::round(y * inverse) + static_cast<float>(out.zero_point);
    table[static_cast<uint8_t>(v)] = saturate<T>(round_to_int32(double{q}));
  }
  return table;
}

class Table16 {
 public:
  // F computes the function; C is the type TFLite computes the table in.
  template <class C, class F>
  static Table16 make(C in_scale, int32_t in_zero, C out_scale, int32_t out_zero, F&& f) {
    constexpr int kSteps = 512;
    const C low = in_scale * static_cast<C>(-32768 - in_zero);
    const C high = in_scale * static_cast<C>(32767 - in_zero);
    const C out_low = out_scale * static_cast<C>(-32768 - out_zero);
    const C out_high = out_scale * static_cast<C>(32767 - out_zero);
    const C step = (high - low) / kSteps, half_step = step / 2;
    const C inverse = static_cast<C>(65536) / (out_high - out_low);
    // The difference of two infinities is no number.
    const auto clamped = [](C v) {
      if (std::isnan(v)) return int16_t{0};
      return static_cast<int16_t>(std::min(std::max(v, C{-32768}), C{32767}));
    };
    Table16 table;
    for (int i = 0; i < kSteps; ++i) {
      const C at = static_cast<C>(i);
      const C value = f(low + at * step), middle = f(low + at * step + half_step);
      const C next = f(low + static_cast<C>(i + 1) * step);
      const C sample = std::round(value * inverse);
      const C interpolated = std::round((next * inverse + std::round(value * inverse)) / 2);
      // Half of the error in the middle of the interval is taken off at its start.
      const C bias = std::round((interpolated - std::round(middle * inverse)) / 2);
      table.points_[static_cast<size_t>(i)] = clamped(sample - bias);
    }
    table.points_[kSteps] = clamped(std::round(f(high) * inverse));
    return table;
  }

  int16_t operator()(int16_t v) const {
    const auto index = static_cast<size_t>(256 + (v >> 7));
    const int32_t offset = v & 0x7f;
    const auto slope = static_cast<int16_t>(points_[index + 1] - points_[index]);
    return static_cast<int16_t>(points_[index] + ((slope * offset + 64) >> 7));
  }

 private:
  std::array<int16_t, 513> points_{};
};

}  // namespace ec::quantized
