// Bounds on what a file may ask for. Real models stay far below; hostile ones must not win.
#pragma once

#include <algorithm>
#include <cstddef>

#include "frontend/limits.h"

namespace ec::tf {

// Errors after which the import stops looking for more.
inline constexpr size_t kMaxImportErrors = 200;
// Names longer than this are cut.
inline constexpr size_t kMaxNameLength = 1024;
// Calls inside each other.
inline constexpr size_t kMaxCallDepth = 64;
// Outputs of one node.
inline constexpr size_t kMaxOutputs = 1 << 16;

// Parts that one node may cut a tensor into.
inline constexpr size_t kMaxParts = 1 << 14;

// Nodes that a file of this size may become when its functions are inlined, and what they make
// beyond some tensors each. A node takes at least some twenty bytes; the constant leaves room for
// functions that are called often, and keeps what a file of a few bytes becomes below 64 MB.
inline constexpr size_t max_operations(size_t file_size) {
  return std::min(20'000 + file_size / 8, kMaxModelOperations);
}
// Bytes of weights that may be copied to give them another order: each is named by one layer or a
// few.
inline constexpr size_t max_turned_bytes(size_t model_size) {
  return (size_t{64} << 20) + 2 * model_size;
}

}  // namespace ec::tf
