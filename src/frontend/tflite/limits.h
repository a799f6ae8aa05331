// Bounds on what a file may ask for. Real models stay far below; hostile ones must not win.
#pragma once

#include <algorithm>
#include <cstddef>

#include "frontend/limits.h"

namespace ec::tflite {

// Errors after which the import stops looking for more.
inline constexpr size_t kMaxImportErrors = 200;
// Names longer than this are cut: many tensors may share one.
inline constexpr size_t kMaxNameLength = 1024;

// Operations that a file of this size may become. An operator takes at least some fifty bytes; the
// constant leaves room for subgraphs that several operators use.
inline constexpr size_t max_operations(size_t file_size) {
  return std::min(60'000 + file_size / 16, kMaxModelOperations);
}
// Bytes of constants that may be copied to give them another form (depthwise weights, 4-bit values,
// sparse tensors). Tensors may share a buffer, so the file's size is no bound by itself.
inline constexpr size_t max_copied_bytes(size_t file_size) {
  return (size_t{48} << 20) + 4 * file_size;
}

}  // namespace ec::tflite
