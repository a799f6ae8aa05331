// Targets by name, and the options that belong to them.
#include <gtest/gtest.h>

#include "driver/registry.h"

namespace ec {
namespace {

const Registry& registry() { return default_registry(); }

TEST(Targets, KnownAvailableAndNot) {
  ASSERT_TRUE(registry().find_backend("cpu").ok());
  EXPECT_EQ((*registry().find_backend("cpu"))->info().files.front().extension, ".ecir");
  EXPECT_EQ((*registry().find_backend("auto"))->info().name, "cpu");
  EXPECT_EQ((*registry().find_backend(""))->info().name, "cpu");
  for (const Backend* backend : registry().backends())
    EXPECT_EQ(*registry().find_backend(backend->info().name), backend);
  ASSERT_FALSE(registry().absent_backends().empty());
  for (const AbsentBackend& absent : registry().absent_backends()) {
    const auto found = registry().find_backend(absent.name);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code(), Code::UnknownTarget);
    EXPECT_NE(found.error().message().find("not in this build"), std::string::npos);
  }
}

TEST(Targets, UnknownNamesGetANearestOne) {
  const auto found = registry().find_backend("cpuu");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().diagnostic().hint, "did you mean 'cpu'?");
  EXPECT_FALSE((*registry().find_backend("cpu:fast"))->configure("fast", {}).ok());
}

TEST(Targets, OptionsBelongToTargets) {
  const auto resolve = [](const Options& options, std::string_view target) {
    return registry().options().resolve(options, Verb::Compile, target);
  };
  for (const Backend* backend : registry().backends())
    EXPECT_TRUE(resolve({}, backend->info().name).ok());
  const Options keep{{"keep-io-layout", true}};
  EXPECT_EQ(resolve(keep, "cpu").error().code(), Code::Usage);
  EXPECT_TRUE(resolve(keep, "tflite").ok());
  const auto coral = (*registry().find_backend("coral"))->configure("", *resolve(keep, "coral"));
  ASSERT_TRUE(coral.ok());
  EXPECT_EQ((*coral)->pipelines({}).legalise, "to-coral-keep-io");
  EXPECT_TRUE(resolve({{"edgetpu-runtime", 13}}, "coral").ok());
  EXPECT_NE(resolve({{"edgetpu-runtime", 13}}, "tflite").error().diagnostic().hint.find("coral"),
            std::string::npos);
  EXPECT_FALSE(resolve({{"edgetpu-runtime", 15}}, "coral").ok());
  EXPECT_FALSE(resolve({{"edgetpu-rules", "guessed"}}, "coral").ok());
}

}  // namespace
}  // namespace ec
