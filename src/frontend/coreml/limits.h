// Bounds on what a package may ask for. Real models stay far below; hostile ones must not win.
#pragma once

#include <algorithm>
#include <cstddef>

#include "frontend/limits.h"

namespace ec::mil {

// Errors after which the import stops looking for more.
inline constexpr size_t kMaxImportErrors = 200;
// Names longer than this are cut: many values may share one.
inline constexpr size_t kMaxNameLength = 1024;

// Operations that files of this size may become. An operation takes at least some fifty bytes; the
// constant leaves room for blocks that are read more than once while the types of a loop settle.
inline constexpr size_t max_operations(size_t bytes) {
  return std::min(60'000 + bytes / 16, kMaxModelOperations);
}
// Bytes of constants that may be made: packed elements take a byte each, and tables and masks
// become the weights that they stand for. A weight of one bit becomes 16 of a half.
inline constexpr size_t max_expanded_bytes(size_t bytes) { return (size_t{40} << 20) + 32 * bytes; }

}  // namespace ec::mil
