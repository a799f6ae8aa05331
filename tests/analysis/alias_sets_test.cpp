#include "analysis/alias_sets.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

TEST(AliasSets, KeeperIsTheRoot) {
  AliasSets sets(5);
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(sets.root(i), i);
  sets.join(3, 1);
  sets.join(1, 4);  // 1 belongs to 3
  EXPECT_EQ(sets.root(1), 3U);
  EXPECT_EQ(sets.root(4), 3U);
  sets.join(0, 4);  // the whole set moves
  EXPECT_EQ(sets.root(3), 0U);
  EXPECT_EQ(sets.root(1), 0U);
  EXPECT_EQ(sets.root(2), 2U);
}

TEST(AliasSets, LongChainsInBothDirections) {
  constexpr uint32_t kCount = 200'000;
  AliasSets forward(kCount), backward(kCount);
  for (uint32_t i = 1; i < kCount; ++i) {
    forward.join(i - 1, i);
    backward.join(i, i - 1);
  }
  for (uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(forward.root(i), 0U);
    ASSERT_EQ(backward.root(i), kCount - 1);
  }
}

}  // namespace
}  // namespace ec
