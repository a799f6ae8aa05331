// Bounds on what a file may ask for. Real models stay far below; hostile ones must not win.
#pragma once

#include <cstddef>

namespace ec::onnx {

inline constexpr int kMaxDepth = 64;  // of graphs in graphs and of function calls
// Errors after which the import stops looking for more.
inline constexpr size_t kMaxImportErrors = 200;

// Operations that a file of this size may become, beside those that its main graph lists. The
// constant leaves room for functions that are called often.
inline constexpr size_t max_expanded_operations(size_t file_size) {
  return 60'000 + file_size / 16;
}

}  // namespace ec::onnx
