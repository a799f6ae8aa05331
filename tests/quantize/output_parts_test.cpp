// Which parts outputs fall into, from the graph and from what samples show.
#include "quantize/measure/output_parts.h"

#include "quantize/quantized_text.h"
#include "quantize/trial/trial.h"

namespace ec::quantize {
namespace {

std::vector<OutputPart> parts_of(const std::string& text) {
  return parts_of_graph(*test::graph_from(text))[0];
}

TEST(OutputParts, BoxesAndScoresOfAConcatenation) {
  const auto parts = parts_of(R"(graph @g(%b: f32[1,10,4], %s: f32[1,10,3]) -> (y = %y) {
    %p = sigmoid(%s)
    %y = concat(%b, %p) {axis=2}
  })");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0], (OutputPart{2, 0, 4, PartMeaning::Values, false}));
  EXPECT_EQ(parts[1], (OutputPart{2, 4, 7, PartMeaning::Scores, false}));
  EXPECT_EQ(part_text(parts[1]), "[:, :, 4:7]");
}

TEST(OutputParts, ScalesBehindEachOtherAreOnePart) {
  const auto parts = parts_of(R"(graph @g(%b: f32[1,10,4], %s: f32[1,10,3],
                                          %c: f32[1,5,4], %t: f32[1,5,3]) -> (y = %y) {
    %p = sigmoid(%s)
    %q = sigmoid(%t)
    %u = concat(%b, %p) {axis=2}
    %v = concat(%c, %q) {axis=2}
    %y = concat(%u, %v) {axis=1}
  })");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1], (OutputPart{2, 4, 7, PartMeaning::Scores, false}));
}

TEST(OutputParts, TransposesAreLookedThrough) {
  const auto parts = parts_of(R"(graph @g(%b: f32[1,10,4], %s: f32[1,10,3]) -> (y = %y) {
    %p = sigmoid(%s)
    %c = concat(%b, %p) {axis=2}
    %y = transpose(%c) {perm=[0,2,1]}
  })");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1], (OutputPart{1, 4, 7, PartMeaning::Scores, false}));
}

TEST(OutputParts, APlainOutputIsOnePart) {
  const auto parts = parts_of("graph @g(%x: f32[1,10]) -> (y = %y) { %y = relu(%x) }");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].whole);
}

// Concatenations of shared operands double with every level: they are not followed for ever.
TEST(OutputParts, SharedOperandsEnd) {
  std::string text = "graph @g(%x: f32[1,1]) -> (y = %c20) {\n  %c0 = sigmoid(%x)\n";
  for (int i = 1; i <= 20; ++i)
    text += "  %c" + std::to_string(i) + " = concat(%c" + std::to_string(i - 1) + ", %c" +
            std::to_string(i - 1) + ") {axis=1}\n";
  EXPECT_GE(parts_of(text + "}").size(), 1u);
}

TEST(OutputParts, OpenSizesAreOnePart) {
  const auto parts = parts_of(R"(graph @g(%b: f32[1,N,4], %s: f32[1,N,3]) -> (y = %y) {
    %p = sigmoid(%s)
    %y = concat(%b, %p) {axis=2}
  })");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].whole);
}

TEST(OutputParts, DataCutsColumnsOfAnotherSize) {
  OutputParts parts{{OutputPart{}}};
  std::vector<float> values;
  for (int i = 0; i < 50; ++i)
    for (int c = 0; c < 6; ++c) values.push_back(c < 4 ? 100.0f + static_cast<float>(i) : 2.0f);
  const std::vector<std::vector<Value>> outputs{
      {Value::of<float>({1, 50, 6}, std::span<const float>(values))}};
  refine_parts(parts, outputs);
  ASSERT_EQ(parts[0].size(), 2u);
  EXPECT_EQ(parts[0][0], (OutputPart{2, 0, 4, PartMeaning::Values, false}));
  EXPECT_EQ(parts[0][1], (OutputPart{2, 4, 6, PartMeaning::Values, false}));
}

TEST(OutputParts, ScoresNearZeroAreNotJudged) {
  const OutputPart scores{.meaning = PartMeaning::Scores};
  const std::vector<float> expected{0.9f, 0.001f, 0.0f}, got{0.8f, 0.015f, 0.01f};
  const std::vector<int64_t> shape{1, 3};
  const PartError error = part_error(scores, shape, expected, got);
  EXPECT_NEAR(error.noise, 0.01, 1e-6);
  EXPECT_NEAR(error.signal, 0.81, 1e-6);
  // A score out of nothing counts.
  const std::vector<float> wrong{0.9f, 0.5f, 0.0f};
  EXPECT_NEAR(part_error(scores, shape, expected, wrong).noise, 0.499 * 0.499, 1e-6);
}

TEST(OutputParts, AChangeThatOnePartPaysForIsNotBetter) {
  const OutputError before{0.11, 1, 0.1005, {0.1, 0.01}};
  const OutputError gained{0.06, 1, 0.0539, {0.05, 0.02}};
  EXPECT_FALSE(is_better(std::vector{gained}, std::vector{before}, tuning::kKeepChange));
  const OutputError both{0.06, 1, 0.051, {0.05, 0.01}};
  EXPECT_TRUE(is_better(std::vector{both}, std::vector{before}, tuning::kKeepChange));
}

}  // namespace
}  // namespace ec::quantize
