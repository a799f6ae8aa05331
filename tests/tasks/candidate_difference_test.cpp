// The sums that tell apart two detectors by a handful of pictures.
#include "tasks/detection/candidate_difference.h"

#include <gtest/gtest.h>

#include "outputs.h"
#include "tasks/task_scorer.h"

namespace ec::tasks::detection {
namespace {

// Boxes of a DETR: sixteen queries with two classes.
constexpr size_t kRows = 16;

struct Answers {
  Outputs outputs;
  std::vector<float>& boxes = outputs.add({1, kRows, 4}, "boxes");
  std::vector<float>& scores = outputs.add({1, kRows, 2}, "scores", 0.001f);

  Answers() {
    for (size_t row = 0; row < kRows; ++row) {
      const float x = 0.1f + 0.05f * static_cast<float>(row);
      const float box[] = {x, 0.5f, 0.1f, 0.2f};
      for (size_t i = 0; i < 4; ++i) boxes[row * 4 + i] = box[i];
    }
    score(3) = 0.9f;
    score(7) = 0.06f;
  }
  float& score(size_t row, size_t label = 0) { return scores[row * 2 + label]; }
};

struct Compared {
  Answers expected;
  HeadPtr head =
      recognise_head(expected.outputs.interface(100, 100), expected.outputs.tensors(), "");

  double noise(const Answers& got) const {
    const auto a = expected.outputs.tensors(), b = got.outputs.tensors();
    const Difference difference = difference_of_detections(*head, a, b);
    EXPECT_GT(difference.signal, 1);
    return difference.noise;
  }
};

TEST(CandidateDifference, TheSameAnswersHaveNone) {
  const Compared compared;
  ASSERT_NE(compared.head, nullptr);
  EXPECT_EQ(compared.noise(Answers()), 0);
}

TEST(CandidateDifference, WhatNoThresholdLetsThroughDoesNotCount) {
  const Compared compared;
  Answers got;
  got.score(5) = 0.015f;
  got.boxes[5 * 4] = 0.9f;
  EXPECT_EQ(compared.noise(got), 0);
}

// 0.06 to 0.12 passes as many thresholds more as 0.45 to 0.9.
TEST(CandidateDifference, LowScoresCountAsMuchAsHighOnes) {
  const Compared compared;
  Answers low, high;
  low.score(7) = 0.12f;
  high.score(3) = 0.45f;
  EXPECT_NEAR(compared.noise(low), compared.noise(high), 1e-6);
  EXPECT_GT(compared.noise(low), 0);
}

TEST(CandidateDifference, BoxesOfSureDetectionsCount) {
  const Compared compared;
  Answers near, far, unsure;
  near.boxes[3 * 4] += 0.01f;
  far.boxes[3 * 4] += 0.05f;
  unsure.boxes[7 * 4] += 0.05f;
  EXPECT_GT(compared.noise(near), 0);
  EXPECT_GT(compared.noise(far), 4 * compared.noise(near));
  EXPECT_LT(compared.noise(unsure), compared.noise(far));
}

TEST(CandidateDifference, MissingAndNewOnesCount) {
  const Compared compared;
  Answers missing, more, other;
  missing.score(3) = 0.001f;
  more.score(11, 1) = 0.9f;
  other.score(3) = 0.001f;
  other.score(3, 1) = 0.9f;
  EXPECT_NEAR(compared.noise(missing), compared.noise(more), 1e-6);
  EXPECT_NEAR(compared.noise(other), compared.noise(missing) + compared.noise(more), 1e-6);
}

// Rows of networks that sort their answers change places without anything being lost.
TEST(CandidateDifference, SortedRowsAreFoundByTheirPlace) {
  const auto rows = [](std::vector<std::vector<float>> values) {
    Outputs outputs;
    std::vector<float>& all = outputs.add({1, 3, 6}, "output0");
    for (size_t i = 0; i < 3; ++i) std::copy(values[i].begin(), values[i].end(), &all[i * 6]);
    return outputs;
  };
  const std::vector<float> a{10, 10, 30, 30, 0.8f, 1}, b{50, 50, 90, 90, 0.79f, 1},
      c{0, 0, 0, 0, 0, 0};
  const Outputs expected = rows({a, b, c}), swapped = rows({b, a, c}), lost = rows({a, c, c});
  const HeadPtr head =
      recognise_head(expected.interface(100, 100), expected.tensors(), "end-to-end");
  ASSERT_NE(head, nullptr);
  const auto noise = [&](const Outputs& got) {
    return difference_of_detections(*head, expected.tensors(), got.tensors()).noise;
  };
  EXPECT_NEAR(noise(swapped), 0, 1e-9);
  EXPECT_GT(noise(lost), 0.5);
}

TEST(CandidateDifference, ScorersHaveItForDetectorsAlone) {
  const Answers answers;
  TaskScorer scorer(answers.outputs.interface(100, 100), {});
  ASSERT_TRUE(scorer.recognise(answers.outputs.tensors()).ok());
  ASSERT_TRUE(scorer.difference(answers.outputs.tensors(), answers.outputs.tensors()));
  // Other shapes have no common rows.
  Outputs other;
  other.add({1, 4, 4}, "boxes");
  other.add({1, 4, 2}, "scores");
  EXPECT_FALSE(scorer.difference(other.tensors(), other.tensors()));
  Outputs classes;
  classes.add({1, 10}, "probabilities", 0.1f);
  TaskScorer classifier(classes.interface(32, 32), {});
  ASSERT_TRUE(classifier.recognise(classes.tensors()).ok());
  EXPECT_FALSE(classifier.difference(classes.tensors(), classes.tensors()));
}

}  // namespace
}  // namespace ec::tasks::detection
