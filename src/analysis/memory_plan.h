// Offsets for buffers of known lifetime in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ec {

// A buffer that is live in steps [first, last].
struct PlanItem {
  size_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // by item, multiples of kArenaAlignment
  size_t arena_bytes = 0;
  size_t lower_bound = 0;  // most bytes live in one step: no plan can be smaller
};

inline constexpr size_t kArenaAlignment = 64;

// Places large buffers first, each in the tightest gap; tries other orders while the result is
// above the lower bound. Deterministic.
MemoryPlan plan_memory(std::span<const PlanItem> items);

}  // namespace ec
