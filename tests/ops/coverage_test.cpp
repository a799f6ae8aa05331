// Every op of the table is complete: documentation, inference, reference kernel, and at least one
// test case in this folder. A new op without one of these fails here by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "fixture_dir.h"
#include "ops/op_def.h"
#include "ops/op_kind.h"

namespace ec::test {
namespace {

struct Kind {
  std::string_view identifier, name;
};
constexpr Kind kKinds[] = {
#define EC_OP(Name, text, AttrsType) {#Name, #text},
#include "ops/ops.def"
#undef EC_OP
};

// All files of a folder whose names end so, in one text.
std::string read_all(const std::string& folder, std::string_view ending) {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().ends_with(ending)) continue;
    std::ifstream file(entry.path());
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

// Whether the text has the word with nothing like a name right after it.
bool mentions(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (end == text.size() || !std::isalnum(static_cast<unsigned char>(text[end]))) return true;
  }
  return false;
}

TEST(OpTable, EveryOpHasATestCase) {
  const std::string sources = read_all(EC_OP_TEST_DIR, "_test.cpp");
  const std::string fixtures = read_all(EC_FIXTURE_DIR, ".ecir");
  for (const Kind& kind : kKinds) {
    const std::string text_form = "= " + std::string(kind.name) + "(";
    const bool tested = mentions(sources, "OpKind::" + std::string(kind.identifier)) ||
                        mentions(sources, text_form) || mentions(fixtures, text_form);
    EXPECT_TRUE(tested) << kind.name << " has no case in tests/ops";
  }
}

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
    EXPECT_TRUE(!def->traits.elementwise || def->layout == LayoutRule::Agnostic);
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
