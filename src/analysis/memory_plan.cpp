#include "analysis/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ec {

namespace {

// The pairwise placement is quadratic; beyond this many buffers only the sweep in time is used.
constexpr size_t kMaxPairwise = 6000;

size_t align_up(size_t n) { return (n + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

bool overlap(const PlanItem& a, const PlanItem& b) {
  return a.first <= b.last && b.first <= a.last;
}

size_t arena_of(std::span<const PlanItem> items, const std::vector<size_t>& offsets) {
  size_t top = 0;
  for (size_t i = 0; i < items.size(); ++i)
    top = std::max(top, offsets[i] + align_up(items[i].bytes));
  return top;
}

size_t lower_bound_of(std::span<const PlanItem> items) {
  std::map<int64_t, int64_t> change;
  for (const PlanItem& item : items) {
    change[item.first] += static_cast<int64_t>(align_up(item.bytes));
    change[item.last + 1] -= static_cast<int64_t>(align_up(item.bytes));
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return static_cast<size_t>(most);
}

// Places items in the given order, each at the tightest gap among those it overlaps in time.
std::vector<size_t> place(std::span<const PlanItem> items, std::span<const size_t> order) {
  std::vector<size_t> offsets(items.size(), 0);
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    const size_t bytes = align_up(items[i].bytes);
    if (bytes == 0) continue;
    size_t best = SIZE_MAX;
    size_t best_gap = SIZE_MAX;
    size_t end = 0;  // of the buffers seen so far
    for (const size_t j : placed) {
      if (!overlap(items[i], items[j])) continue;
      if (offsets[j] > end && offsets[j] - end >= bytes && offsets[j] - end < best_gap) {
        best = end;
        best_gap = offsets[j] - end;
      }
      end = std::max(end, offsets[j] + align_up(items[j].bytes));
    }
    offsets[i] = best == SIZE_MAX ? end : best;
    const auto at = std::upper_bound(placed.begin(), placed.end(), i,
                                     [&](size_t a, size_t b) { return offsets[a] < offsets[b]; });
    placed.insert(at, i);
  }
  return offsets;
}

// Free space as offset -> size, neighbours joined.
class FreeList {
 public:
  size_t take(size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best != free_.end()) {
      const size_t offset = best->first;
      const size_t rest = best->second - bytes;
      free_.erase(best);
      if (rest > 0) free_[offset + bytes] = rest;
      return offset;
    }
    // Grow, starting with the free space at the very top.
    size_t offset = top_;
    if (!free_.empty() && free_.rbegin()->first + free_.rbegin()->second == top_) {
      offset = free_.rbegin()->first;
      free_.erase(std::prev(free_.end()));
    }
    top_ = offset + bytes;
    return offset;
  }

  void give(size_t offset, size_t bytes) {
    const auto next = free_.lower_bound(offset);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        free_.erase(before);
      }
    }
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      free_.erase(next);
    }
    free_[offset] = bytes;
  }

 private:
  std::map<size_t, size_t> free_;
  size_t top_ = 0;
};

// What an allocator would do at run time, step by step.
std::vector<size_t> sweep(std::span<const PlanItem> items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (items[a].first != items[b].first) return items[a].first < items[b].first;
    return items[a].bytes > items[b].bytes;
  });
  std::multimap<int64_t, size_t> ends;
  std::vector<size_t> offsets(items.size(), 0);
  FreeList free;
  for (const size_t i : order) {
    if (items[i].bytes == 0) continue;
    while (!ends.empty() && ends.begin()->first < items[i].first) {
      const size_t done = ends.begin()->second;
      free.give(offsets[done], align_up(items[done].bytes));
      ends.erase(ends.begin());
    }
    offsets[i] = free.take(align_up(items[i].bytes));
    ends.emplace(items[i].last, i);
  }
  return offsets;
}

}  // namespace

MemoryPlan plan_memory(std::span<const PlanItem> items) {
  MemoryPlan plan;
  plan.lower_bound = lower_bound_of(items);
  plan.offsets = sweep(items);
  plan.arena_bytes = arena_of(items, plan.offsets);
  if (items.size() > kMaxPairwise) return plan;

  const auto length = [&](size_t i) { return items[i].last - items[i].first; };
  const auto area = [&](size_t i) {
    return static_cast<double>(items[i].bytes) * static_cast<double>(length(i) + 1);
  };
  const auto bytes = [&](size_t i) { return static_cast<double>(items[i].bytes); };
  const auto lifetime = [&](size_t i) { return static_cast<double>(length(i)); };
  const auto attempt = [&](const auto& weight) {
    if (plan.arena_bytes == plan.lower_bound) return;
    std::vector<size_t> order(items.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (weight(a) != weight(b)) return weight(a) > weight(b);
      return items[a].bytes > items[b].bytes;
    });
    std::vector<size_t> offsets = place(items, order);
    const size_t arena = arena_of(items, offsets);
    if (arena >= plan.arena_bytes) return;
    plan.arena_bytes = arena;
    plan.offsets = std::move(offsets);
  };
  attempt(bytes);
  attempt(area);
  attempt(lifetime);
  return plan;
}

}  // namespace ec
