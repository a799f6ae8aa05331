// What conversions write out is bounded: sizes in a damaged file can ask for any number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ec::torch {

inline constexpr int64_t kMaxIndices = 1 << 22;  // in a list that is written out
// Operations of one call: layers that are unrolled, pools of uneven bins, lists of numbers.
inline constexpr size_t kMaxCallOperations = 40'000;

}  // namespace ec::torch
