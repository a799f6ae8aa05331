#include "driver/targets.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

TEST(Targets, KnownAvailableAndNot) {
  ASSERT_TRUE(find_target("cpu").ok());
  EXPECT_EQ((*find_target("cpu"))->extension, ".ecir");
  EXPECT_EQ((*find_target("auto"))->name, "cpu");
  for (const TargetInfo& target : all_targets()) {
    const auto found = find_target(target.name);
    EXPECT_EQ(found.ok(), target.available);
    if (found.ok()) continue;
    EXPECT_EQ(found.error().code(), Code::UnknownTarget);
    EXPECT_NE(found.error().message().find("not in this build"), std::string::npos);
  }
}

TEST(Targets, UnknownNamesGetANearestOne) {
  const auto found = find_target("cpuu");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().diagnostic().hint, "did you mean 'cpu'?");
  EXPECT_FALSE(find_target("cpu:fast").ok());
  EXPECT_FALSE(find_target("").ok());
}

}  // namespace
}  // namespace ec
