#include "quantize/measure/class_scores.h"

#include "passes/harness.h"

namespace ec::quantize {
namespace {

TEST(Scores, OneDimensionBehindTheBatch) {
  const auto classes = [](std::vector<int64_t> shape) { return score_classes(shape); };
  EXPECT_EQ(classes({1, 10}), 10u);
  EXPECT_EQ(classes({2, 10, 1, 1}), 10u);
  EXPECT_EQ(classes({1, 1, 1, 7}), 7u);
  EXPECT_EQ(classes({10}), 10u);
  EXPECT_EQ(classes({1, 3, 8, 8}), 0u);
  EXPECT_EQ(classes({1, 1}), 0u);
  EXPECT_EQ(classes({}), 0u);
}

std::optional<size_t> axis_in(std::string_view body) {
  const auto graph =
      test::graph_from("graph @g(%x: f32[1,5,4,3]) -> (y = %y) {\n" + std::string(body) + "\n}");
  return softmax_axes(*graph)[0];
}

TEST(Scores, AlongTheAxisOfTheSoftmax) {
  EXPECT_EQ(axis_in("%y = softmax(%x) {axis=1}"), 1u);
  EXPECT_EQ(axis_in("%y = softmax(%x) {axis=-1}"), 3u);
  EXPECT_EQ(axis_in("%y = log_softmax(%x) {axis=2}"), 2u);
  EXPECT_EQ(axis_in("%a = softmax(%x) {axis=3} %y = transpose(%a) {perm=[0,3,1,2]}"), 1u);
  EXPECT_EQ(axis_in("%a = softmax(%x) {axis=3} %b = transpose(%a) {perm=[0,3,1,2]} "
                    "%y = transpose(%b) {perm=[0,2,1,3]}"),
            2u);
  EXPECT_EQ(axis_in("%a = softmax(%x) {axis=1} %y = relu(%a)"), std::nullopt);
  EXPECT_EQ(axis_in("%y = relu(%x)"), std::nullopt);
}

TEST(Scores, ListsOfEveryPosition) {
  const std::vector<int64_t> map{2, 3, 4, 5}, list{2, 7, 1};
  const auto of_map = score_lists(map, 1);
  ASSERT_TRUE(of_map);
  EXPECT_EQ(of_map->rows, 2u);
  EXPECT_EQ(of_map->classes, 3u);
  EXPECT_EQ(of_map->inner, 20u);
  EXPECT_FALSE(score_lists(map, std::nullopt));
  EXPECT_EQ(score_lists(list, std::nullopt)->rows, 2u);
  EXPECT_EQ(score_lists(list, std::nullopt)->classes, 7u);
}

TEST(Scores, AgreementCountsPositions) {
  // Two classes of three positions; the second position prefers another one, the third is a tie.
  const float a[] = {1, 5, 3, 0, 2, 3}, b[] = {1, 1, 3, 0, 2, 3};
  Agreement agreement;
  EXPECT_EQ(agreement.share(), std::nullopt);
  agreement.add(a, b, {1, 2, 3});
  EXPECT_EQ(agreement.rows, 3);
  EXPECT_EQ(agreement.same, 2);
}

}  // namespace
}  // namespace ec::quantize
