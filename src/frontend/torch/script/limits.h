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
  return std::min(40'000 + file_size / 16, kMaxModelOperations);
}
// Items of a list that a program builds, characters of a text.
inline constexpr size_t kMaxItems = 500'000;
inline constexpr size_t kMaxText = 1 << 16;
// Items of all lists that a program makes, whether it keeps them or not; as many bytes of text as
// an item takes count as one.
inline constexpr size_t max_made_items(size_t file_size) { return 1'000'000 + file_size / 32; }
// Items that are looked at or copied in the time that one statement is counted for.
inline constexpr size_t kItemsPerStep = 16;

}  // namespace ec::torch::script
