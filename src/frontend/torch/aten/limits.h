// What conversions write out is bounded: sizes in a damaged file can ask for any number.
#pragma once

#include <cstdint>

namespace ec::torch {

inline constexpr int64_t kMaxIndices = 1 << 24;  // in a list that is written out

}  // namespace ec::torch
