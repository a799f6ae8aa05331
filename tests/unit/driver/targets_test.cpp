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

TEST(Targets, OptionsBelongToTargets) {
  const TargetInfo& cpu = **find_target("cpu");
  const TargetInfo& tflite = **find_target("tflite");
  const TargetInfo& coral = **find_target("coral");
  CompileOptions options;
  for (const TargetInfo* target : {&cpu, &tflite, &coral})
    EXPECT_TRUE(check_target_options(*target, options).ok());
  options.keep_io_layout = true;
  EXPECT_EQ(check_target_options(cpu, options).error().code(), Code::Usage);
  EXPECT_TRUE(check_target_options(tflite, options).ok());
  EXPECT_TRUE(check_target_options(coral, options).ok());
  EXPECT_EQ(target_pipeline(coral, options), "coral-keep-io");
  options = {};
  options.edgetpu_runtime = 13;
  EXPECT_TRUE(check_target_options(coral, options).ok());
  EXPECT_NE(check_target_options(tflite, options).error().diagnostic().hint.find("coral"),
            std::string::npos);
  options.edgetpu_runtime = 15;
  EXPECT_FALSE(check_target_options(coral, options).ok());
  options = {};
  options.edgetpu_rules = "guessed";
  EXPECT_FALSE(check_target_options(coral, options).ok());
}

}  // namespace
}  // namespace ec
