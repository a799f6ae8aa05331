// Bounds on what an archive may ask for. Real models stay far below; hostile ones must not win.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "frontend/limits.h"

namespace ec::torch::script {

// Expressions, statements and calls that are being evaluated inside each other.
inline constexpr int kMaxNesting = 1500;
// Method and function calls inside each other.
inline constexpr int kMaxCalls = 150;
// Statements that run at all: loops are unrolled, so this bounds them, too.
inline constexpr int64_t kMaxSteps = 1'000'000;
// Operations that the program may become.
inline constexpr size_t max_operations(size_t file_size) {
  return std::min(100'000 + file_size / 16, kMaxModelOperations);
}
// Items of a list that a program builds, characters of a text.
inline constexpr size_t kMaxItems = 1'000'000;

}  // namespace ec::torch::script
