// Every op of the table is complete: documentation, inference, reference kernel, and at least one
// case in this folder that runs it. A new op without one of these fails here by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/op_case.h"
#include "ops/op_def.h"

namespace ec::test {
namespace {

// Each test may run in a process of its own, which knows nothing about the others: only a run of
// the whole program tells. ctest has one.
class EveryOpHasACase : public testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    for (const OpDef* def : all_ops()) {
      if (def->kind == OpKind::Custom) continue;  // stands for what only other programs can run
      EXPECT_TRUE(ops_that_ran().contains(def->kind)) << def->name << " has no case in tests/ops";
    }
  }
};
const testing::Environment* const kEveryOpHasACase =
    testing::AddGlobalTestEnvironment(new EveryOpHasACase);

TEST(OpTable, EveryOpIsComplete) {
  for (const OpDef* def : all_ops()) {
    SCOPED_TRACE(def->name);
    EXPECT_NE(def->infer, nullptr);
    EXPECT_NE(def->reference, nullptr);
    EXPECT_NE(def->attrs, nullptr);
    EXPECT_GT(def->summary.size(), 5u);
    EXPECT_TRUE(def->summary.ends_with('.')) << def->summary;
    EXPECT_EQ(def->signature.find("->"), def->signature.rfind("->"));
    EXPECT_TRUE(def->inputs().accepts(static_cast<size_t>(def->inputs().min)));
    EXPECT_GE(def->outputs().max == -1 ? 1 : def->outputs().max, 1);
  }
}

TEST(OpTable, NamesAreUniqueAndInSnakeCase) {
  std::set<std::string_view> names;
  for (const OpDef* def : all_ops()) {
    EXPECT_TRUE(names.insert(def->name).second) << def->name;
    EXPECT_TRUE(std::all_of(def->name.begin(), def->name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    })) << def->name;
  }
}

// Rules that follow from each other.
TEST(OpTable, RulesAgree) {
  for (const OpDef* def : all_ops()) {
    SCOPED_TRACE(def->name);
    // Whatever works element by element does not care about the order of dimensions.
    EXPECT_EQ(def->traits.elementwise, def->layout == LayoutRule::Agnostic);
    // A view moves no data: its elements keep their meaning.
    EXPECT_TRUE(!def->traits.view || def->quant == QuantRule::SameAsInput);
    EXPECT_TRUE(!def->traits.commutative || def->inputs().min >= 2);
    // A layout attribute is what FollowsInput means.
    const bool has_layout = def->attrs().find("layout") != nullptr;
    EXPECT_EQ(has_layout, def->layout == LayoutRule::FollowsInput);
  }
}

}  // namespace
}  // namespace ec::test
