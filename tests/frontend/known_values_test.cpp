#include "frontend/known_values.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

TEST(KnownValues, AbsentOperandsAreNotKnown) {
  EXPECT_FALSE(known_ints(nullptr).has_value());
  EXPECT_FALSE(known_scalar(nullptr).has_value());
}

TEST(KnownValues, Constants) {
  Graph graph;
  const std::vector<int64_t> values = {3, -4};
  EXPECT_EQ(known_ints(graph.add_ints("", values)), values);
  EXPECT_EQ(known_scalar(graph.add_scalar("", DType::F32, 0.5)), 0.5);
  EXPECT_FALSE(known_scalar(graph.add_ints("", values)).has_value());
}

// One number that a file repeats is no list of sizes or axes.
TEST(KnownValues, LongListsAreNotKnown) {
  Graph graph;
  const std::vector<int64_t> values(1 << 15, 1);
  EXPECT_FALSE(known_ints(graph.add_ints("", values)).has_value());
}

}  // namespace
}  // namespace ec
