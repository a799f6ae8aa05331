// What conversions write out is bounded: sizes in a damaged file can ask for any number.
#pragma once

#include <cstdint>

namespace ec::torch {

inline constexpr int64_t kMaxPlaces = 1 << 24;  // of a list of indices

}  // namespace ec::torch
