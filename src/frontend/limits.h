// Bounds that all formats share.
#pragma once

#include <cstddef>

namespace ec {

// Operations and constants of one model. Graphs up to here are read in time and memory that grow
// with their size; the largest published models have some tens of thousands.
inline constexpr size_t kMaxModelOperations = 10'000'000;

}  // namespace ec
