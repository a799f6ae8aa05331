// Op cases whose expectations other programs computed. A fixture is a graph in text form with one
// operation on constants; results y0, y1, ... are paired with expected constants e0, e1, ...;
// cases are separated by "// -----". fixtures/generate.py writes the files. EC_OP_FIXTURES names
// another folder to run, for larger sets that are not kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fixture_dir.h"
#include "ir/text.h"
#include "ops/op_case.h"
#include "support/strings.h"

namespace ec::test {
namespace {

std::filesystem::path fixture_folder() {
  const char* other = std::getenv("EC_OP_FIXTURES");
  return other != nullptr ? other : EC_FIXTURE_DIR;
}

std::vector<std::string> fixture_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(fixture_folder()))
    if (entry.path().extension() == ".ecir") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> split_cases(const std::string& text) {
  static constexpr std::string_view kSeparator = "// -----\n";
  std::vector<std::string> cases;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(kSeparator, start);
    cases.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return cases;
    start = end + kSeparator.size();
  }
}

Value constant_value(const Tensor& tensor) {
  return Value(tensor.dtype(), tensor.shape()->sizes(), tensor.data());
}

void run_fixture(const std::string& text) {
  const auto graph = parse(text);
  ASSERT_TRUE(graph.ok()) << format_diagnostic(graph.error().diagnostic()) << text.substr(0, 200);
  SCOPED_TRACE((*graph)->name());
  const std::vector<Operation*> ops = (*graph)->topological();
  ASSERT_EQ(ops.size(), 1u);
  OpCase c{ops[0]->kind(), {}, {}, ops[0]->attrs()};
  c.tolerance = parse_double((*graph)->metadata().at("tolerance")).value();
  for (const Tensor* input : ops[0]->inputs())
    c.inputs.push_back(input == nullptr ? Operand() : constant_value(*input));
  ASSERT_EQ((*graph)->outputs().size(), 2 * ops[0]->outputs().size());
  for (size_t i = 0; i < ops[0]->outputs().size(); ++i)
    c.expected.push_back(constant_value(*(*graph)->outputs()[2 * i + 1]));
  expect_case(c);
}

class Fixtures : public testing::TestWithParam<std::string> {};

TEST_P(Fixtures, MatchOtherPrograms) {
  std::ifstream file(fixture_folder() / (GetParam() + ".ecir"));
  std::stringstream text;
  text << file.rdbuf();
  const std::vector<std::string> cases = split_cases(text.str());
  EXPECT_GT(cases.size(), 1u);
  for (const std::string& one : cases) run_fixture(one);
}

INSTANTIATE_TEST_SUITE_P(Ops, Fixtures, testing::ValuesIn(fixture_files()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace ec::test
