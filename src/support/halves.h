// Many halves at once, with the bits that small_float.h gives for each: weights of whole networks
// are converted, and every result of a trial run in half precision is rounded.
#pragma once

#include <cstdint>
#include <span>

namespace ec {

// `out` has as many elements as `values`.
void floats_to_halves(std::span<const float> values, uint16_t* out);
void halves_to_floats(std::span<const uint16_t> values, float* out);
// Every number becomes the nearest half.
void round_to_halves(std::span<float> values);

}  // namespace ec
