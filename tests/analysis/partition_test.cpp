#include "analysis/partition.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

TEST(AlternatingGroups, AnOperationJoinsTheEarliestGroupBehindItsProducers) {
  EXPECT_TRUE(alternating_groups({}).empty());
  // 0 and 1 run on the device, 2 on the host, 3 behind it on the device; 4 reads 1 alone.
  const std::vector<PartitionNode> nodes = {
      {true, {}}, {true, {0}}, {false, {1}}, {true, {2}}, {true, {1}}};
  EXPECT_EQ(alternating_groups(nodes), (std::vector<size_t>{0, 0, 1, 2, 0}));
}

TEST(AlternatingGroups, TheFirstOperationDecidesWhichGroupsAreEven) {
  const std::vector<PartitionNode> nodes = {{false, {}}, {true, {}}, {false, {1}}, {true, {0, 2}}};
  EXPECT_EQ(alternating_groups(nodes), (std::vector<size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace ec
