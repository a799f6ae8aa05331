// Scales and zero points: from ranges, from weights, and for every tensor of a plan.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quantize/observer.h"
#include "quantize/plan.h"
#include "support/result.h"

namespace ec::quantize {

// Affine parameters whose range holds [min, max] and zero, with zero exactly on a step (as TFLite
// wants it: padding is zero). Symmetric: zero point 0.
QuantParams params_of_range(const Range& range, DType dtype, bool symmetric);

// Symmetric parameters of weights, used from -127 to 127; axis -1: one scale for all.
QuantParams params_of_weights(std::span<const float> weights, std::span<const int64_t> shape,
                              int32_t axis);
// Widens scales where a bias would not fit: |bias| / (input scale x weight scale) must stay below
// 2^30, half of what the accumulator holds. True when something was widened.
bool fit_bias(QuantParams& weights, float input_scale, std::span<const float> bias);
QuantParams params_of_bias(const QuantParams& weights, float input_scale);

// Nearest integers, ties away from zero, saturated to the type. `limit` bounds the magnitude where
// the type's own range is not used fully (127 for weights); 0: none.
template <class T>
std::vector<T> quantize_values(std::span<const float> values, std::span<const int64_t> shape,
                               const QuantParams& params, int64_t limit = 0);

extern template std::vector<int8_t> quantize_values(std::span<const float>,
                                                    std::span<const int64_t>, const QuantParams&,
                                                    int64_t);
extern template std::vector<int32_t> quantize_values(std::span<const float>,
                                                     std::span<const int64_t>, const QuantParams&,
                                                     int64_t);

// What calibration saw, by tensor id; empty where nothing was observed.
using Ranges = std::vector<std::optional<Range>>;

// The parameters of every quantised tensor, by tensor id; constants that are activations of their
// own included. A tensor that is read but was never observed: Internal.
Result<std::vector<std::optional<QuantParams>>> assign_parameters(const Graph& graph,
                                                                  const Plan& plan,
                                                                  const Ranges& ranges);

}  // namespace ec::quantize
