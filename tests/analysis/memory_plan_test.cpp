#include "analysis/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace ec {
namespace {

void expect_sound(const std::vector<PlanItem>& items, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kArenaAlignment, 0U);
    EXPECT_LE(plan.offsets[i] + items[i].bytes, plan.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
      if (!together || items[i].bytes == 0 || items[j].bytes == 0) continue;
      const bool apart = plan.offsets[i] + items[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + items[j].bytes <= plan.offsets[i];
      ASSERT_TRUE(apart) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.arena_bytes, plan.lower_bound);
}

TEST(MemoryPlan, EmptyAndSingle) {
  EXPECT_EQ(plan_memory({}).arena_bytes, 0U);
  const std::vector<PlanItem> one = {{100, 0, 3}};
  const MemoryPlan plan = plan_memory(one);
  EXPECT_EQ(plan.arena_bytes, 128U);
  EXPECT_EQ(plan.lower_bound, 128U);
}

TEST(MemoryPlan, ChainNeedsTwoBuffers) {
  std::vector<PlanItem> items;
  for (int64_t i = 0; i < 50; ++i) items.push_back({6400, i, i + 1});
  const MemoryPlan plan = plan_memory(items);
  expect_sound(items, plan);
  EXPECT_EQ(plan.arena_bytes, 2U * 6400);
  EXPECT_EQ(plan.lower_bound, 2U * 6400);
}

TEST(MemoryPlan, LongLivedSkipConnection) {
  // A large early buffer that dies, a small one that lives on: the small one must not split it.
  const std::vector<PlanItem> items = {{64, 0, 9}, {6400, 0, 1}, {6400, 1, 2}, {12800, 3, 4}};
  const MemoryPlan plan = plan_memory(items);
  expect_sound(items, plan);
  EXPECT_EQ(plan.arena_bytes, plan.lower_bound);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  std::mt19937 engine(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<PlanItem> items;
    const int count = 5 + round * 10;
    for (int i = 0; i < count; ++i) {
      const int64_t first = static_cast<int64_t>(engine() % 60);
      items.push_back({engine() % 5000, first, first + static_cast<int64_t>(engine() % 12)});
    }
    const MemoryPlan plan = plan_memory(items);
    expect_sound(items, plan);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.3 * static_cast<double>(plan.lower_bound));
  }
}

TEST(MemoryPlan, ManyBuffersInReasonableTime) {
  std::mt19937 engine(4);
  std::vector<PlanItem> items;
  for (int64_t i = 0; i < 100000; ++i)
    items.push_back({64 + engine() % 4096, i, i + static_cast<int64_t>(engine() % 4)});
  const MemoryPlan plan = plan_memory(items);
  EXPECT_GE(plan.arena_bytes, plan.lower_bound);
}

}  // namespace
}  // namespace ec
