// Constants that are computed while a model is read.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"

namespace ec {

// Operands up to this size are computed with while importing: sizes, axes, masks, filter banks.
// Larger ones are left to the passes, unless a front end needs weights.
inline constexpr size_t kMaxFoldBytes = 16 << 10;

// The results of an operation whose operands are constants of at most `max_bytes` together; nothing
// where that is not so, or where the thread's budget has no room for them. Many operations may read
// one constant, so a small file could else take any memory.
std::optional<std::vector<Value>> computed_results(const Operation& op, size_t max_bytes);

}  // namespace ec
