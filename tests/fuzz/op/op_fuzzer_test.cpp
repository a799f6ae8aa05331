// The generator keeps its promises, and what was found once stays mended.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/allocation_meter.h"
#include "fuzz/op/generate.h"
#include "fuzz/op/recipes.h"
#include "fuzz/op/stages.h"
#include "fuzz/op/workers.h"
#include "ir/text.h"
#include "runtime/fill.h"

namespace ec::fuzz {
namespace {

TEST(OpFuzzer, EveryOpHasARecipe) {
  for (const OpDef* def : all_ops()) EXPECT_NE(find_recipe(def->kind), nullptr) << def->name;
}

TEST(OpFuzzer, AModelIsAFunctionOfItsSeed) {
  for (uint64_t seed = 1; seed < 200; ++seed) {
    const Model first = generate(seed, {}), second = generate(seed, {});
    ASSERT_EQ(first.graph == nullptr, second.graph == nullptr);
    ASSERT_EQ(first.files.size(), second.files.size());
    for (size_t i = 0; i < first.files.size(); ++i)
      EXPECT_EQ(first.files[i].bytes, second.files[i].bytes);
    if (first.graph != nullptr) {
      EXPECT_EQ(print(*first.graph), print(*second.graph)) << seed;
    }
  }
}

TEST(OpFuzzer, RecipesAreLegalMoreOftenThanNot) {
  for (const OpDef* def : all_ops()) {
    GenerateOptions options;
    options.level = Level::Legal;
    options.subjects = {def->kind};
    int taken = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const Model model = generate(seed, options);
      taken += std::count(model.taken.begin(), model.taken.end(), def->kind) > 0 ? 1 : 0;
    }
    EXPECT_GT(taken, 10) << def->name;
  }
}

std::vector<std::string> names_of_finds() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(EC_FUZZ_FINDS))
    if (entry.path().extension() == ".ecir") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Finds : public testing::TestWithParam<std::string> {};

TEST_P(Finds, StayMended) {
  std::ifstream file(std::filesystem::path(EC_FUZZ_FINDS) / (GetParam() + ".ecir"));
  std::stringstream text;
  text << file.rdbuf();
  Result<std::unique_ptr<Graph>> graph = parse(text.str());
  ASSERT_TRUE(graph.ok()) << format_diagnostic(graph.error().diagnostic());
  Model model;
  model.graph = std::move(*graph);
  // A model with an immense input is not run.
  const bool is_immense = std::ranges::any_of(model.graph->inputs(), [](const Tensor* input) {
    return input->type().num_bytes().value_or(0) > (1 << 24);
  });
  for (const Tensor* input : model.graph->inputs()) {
    if (is_immense) break;
    std::vector<int64_t> sizes;
    for (const Dim& dim : *input->shape()) sizes.push_back(dim.is_static() ? dim.size() : 2);
    Result<Value> value = make_value(input->dtype(), sizes, Fill::Random, 1);
    ASSERT_TRUE(value.ok());
    model.inputs.push_back(std::move(*value));
  }
  std::string stage;
  StageHooks hooks;
  hooks.begin = [&](std::string_view name) { stage = std::string(name); };
  hooks.found = [&](const Find& find) {
    ADD_FAILURE() << find.stage << ": " << find.kind << ": " << find.text;
  };
  // The seed chooses between strategies and ways in.
  const AllocationMeter meter;
  for (uint64_t seed = 0; seed < 10; ++seed) run_stages(default_registry(), model, seed, hooks);
  EXPECT_LT(meter.peak() >> 20, RunOptions{}.megabytes);
}

INSTANTIATE_TEST_SUITE_P(OpFuzzer, Finds, testing::ValuesIn(names_of_finds()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace ec::fuzz
