// Scales and zero points: from ranges, from weights, and for every tensor of a plan.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "quantize/plan/plan.h"
#include "quantize/ranges/observer.h"
#include "support/result.h"

namespace ec::quantize {

// Affine parameters whose range holds [min, max] and zero, with zero exactly on a step, so
// that padding is exact. Symmetric: zero point 0.
QuantParams params_of_range(const Range& range, DType dtype, bool symmetric);

// The same for each index of an axis.
QuantParams params_of_channels(std::span<const Range> channels, DType dtype, bool symmetric,
                               int32_t axis);

// Symmetric parameters of weights, used from -127 to 127; axis -1: one scale for all.
QuantParams params_of_weights(std::span<const float> weights, std::span<const int64_t> shape,
                              int32_t axis);
// The input has one scale, or one for each channel of the result.
//
// Widens scales where a bias would not fit: |bias| / (input scale x weight scale) must stay below
// half of what the accumulator holds (2^30 on 32 bits, 2^38 of the 40 bits that kernels use on 64
// bits). True when something was widened.
bool fit_bias(QuantParams& weights, std::span<const float> input_scales,
              std::span<const float> bias, Width width);
QuantParams params_of_bias(const QuantParams& weights, std::span<const float> input_scales);

// Calls f(channel, first element, number of elements) for all elements in order; axis -1: one
// channel.
template <class F>
void for_each_channel_run(std::span<const int64_t> shape, int32_t axis, F&& f) {
  int64_t outer = 1, channels = 1, inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto dimension = static_cast<int32_t>(d);
    (axis < 0 || dimension > axis ? inner : dimension < axis ? outer : channels) *= shape[d];
  }
  size_t at = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < channels; ++c, at += static_cast<size_t>(inner))
      f(static_cast<size_t>(c), at, static_cast<size_t>(inner));
}
inline size_t num_channels(std::span<const int64_t> shape, int32_t axis) {
  return axis < 0 ? 1 : static_cast<size_t>(shape[static_cast<size_t>(axis)]);
}

// Nearest integers, ties away from zero, saturated to the type. `limit` bounds the magnitude where
// the type's own range is not used fully (127 for weights); 0: none.
template <class T>
std::vector<T> quantize_values(std::span<const float> values, std::span<const int64_t> shape,
                               const QuantParams& params, int64_t limit = 0);

extern template std::vector<int8_t> quantize_values(std::span<const float>,
                                                    std::span<const int64_t>, const QuantParams&,
                                                    int64_t);
extern template std::vector<int16_t> quantize_values(std::span<const float>,
                                                     std::span<const int64_t>, const QuantParams&,
                                                     int64_t);
extern template std::vector<int32_t> quantize_values(std::span<const float>,
                                                     std::span<const int64_t>, const QuantParams&,
                                                     int64_t);
extern template std::vector<int64_t> quantize_values(std::span<const float>,
                                                     std::span<const int64_t>, const QuantParams&,
                                                     int64_t);

// What calibration saw, by tensor id; empty where nothing was observed.
struct Ranges : std::vector<std::optional<Range>> {
  // The extremes of every channel (index of the last dimension), of tensors that the plan has by
  // channel.
  std::map<uint32_t, std::vector<Range>> channels;
  // Ranges for 16-bit forms, which have room for values that 8 bits had better cut off. Empty: the
  // same as for 8 bits.
  std::vector<std::optional<Range>> wide;
};

// By form; empty where the form is not used.
using FormParams = std::vector<std::optional<QuantParams>>;

// The parameters of every quantised form; constants that are activations of their own included. A
// tensor that is read but was never observed: Internal.
Result<FormParams> assign_parameters(const Graph& graph, const Plan& plan, const Ranges& ranges);

}  // namespace ec::quantize
