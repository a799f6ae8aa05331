// Segmentation, keypoints, sequences and regression on outputs made by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "outputs.h"
#include "tasks/task_scorer.h"

namespace ec::tasks {
namespace {

double figure(const TaskResult& result, std::string_view name) {
  for (const Figure& one : result.figures)
    if (one.name == name) return one.value;
  ADD_FAILURE() << "no figure " << name;
  return -1;
}

TaskResult scored(const Outputs& expected, const Outputs& got, Request request = {},
                  int64_t side = 0) {
  TaskScorer scorer(expected.interface(side, side), std::move(request));
  const Status status = scorer.add(expected.tensors(), got.tensors());
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message());
  return scorer.result();
}

TEST(Segmentation, LargestOfClasses) {
  for (const bool last : {false, true}) {
    Outputs expected, got;
    for (Outputs* outputs : {&expected, &got}) {
      std::vector<float>& map = outputs->add(
          last ? std::vector<int64_t>{1, 8, 8, 3} : std::vector<int64_t>{1, 3, 8, 8}, "map");
      const auto at = [&](size_t c, size_t p) -> float& {
        return map[last ? p * 3 + c : c * 64 + p];
      };
      // Class 1 on the first 32 pixels, class 0 on the others; the changed network gives up 8.
      const size_t border = outputs == &expected ? 32 : 24;
      for (size_t p = 0; p < 64; ++p) at(p < border ? 1 : 0, p) = 5;
    }
    const TaskResult result = scored(expected, got);
    EXPECT_EQ(result.task, Task::Segmentation) << result.reason;
    EXPECT_DOUBLE_EQ(figure(result, "pixel_agreement"), 56.0 / 64);
    // Class 0: 32 of 40, class 1: 24 of 32.
    EXPECT_DOUBLE_EQ(figure(result, "mean_iou"), (32.0 / 40 + 24.0 / 32) / 2);
    EXPECT_DOUBLE_EQ(*result.agreement, figure(result, "mean_iou"));
  }
}

TEST(Segmentation, MaskAboveAThreshold) {
  Outputs expected, got;
  std::vector<float>& e = expected.add({1, 1, 16, 16}, "mask", 0.01f);
  std::vector<float>& g = got.add({1, 1, 16, 16}, "mask", 0.01f);
  for (size_t i = 0; i < 20; ++i) e[i] = 0.95f;
  for (size_t i = 10; i < 30; ++i) g[i] = 0.4f;
  EXPECT_DOUBLE_EQ(*scored(expected, got).agreement, 0);
  Request request;
  request.threshold = 0.3;
  const TaskResult result = scored(expected, got, request);
  EXPECT_EQ(result.task, Task::Segmentation) << result.reason;
  // Of the mask alone: the background would make any mask look good.
  EXPECT_DOUBLE_EQ(*result.agreement, 10.0 / 30);
  EXPECT_DOUBLE_EQ(figure(result, "pixel_agreement"), 236.0 / 256);
}

TEST(Segmentation, LogitsAndNumbers) {
  Outputs logits, same;
  std::vector<float>& values = logits.add({1, 1, 8, 8}, "y", -4);
  values[3] = 0.1f;
  same.add({1, 1, 8, 8}, "y", -4)[3] = 0.2f;
  EXPECT_EQ(scored(logits, same).agreement, 1.0);
  Outputs numbers, other;
  numbers.add({1, 8, 8}, "y", 15)[0] = 3;
  other.add({1, 8, 8}, "y", 15)[1] = 3;
  const TaskResult result = scored(numbers, other);
  EXPECT_EQ(result.task, Task::Segmentation) << result.reason;
  EXPECT_DOUBLE_EQ(figure(result, "mean_iou"), (0 + 62.0 / 64) / 2);
}

TEST(Segmentation, PicturesAndDepthAreNone) {
  Outputs picture;
  std::vector<float>& values = picture.add({1, 3, 32, 32}, "y");
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 0.2f + 0.6f * static_cast<float>(i % 7) / 7;
  EXPECT_EQ(scored(picture, picture, {}, 32).task, Task::Unknown);
  Outputs depth;
  std::vector<float>& distances = depth.add({1, 1, 32, 32}, "y");
  for (size_t i = 0; i < distances.size(); ++i) distances[i] = 1.0f + static_cast<float>(i % 50);
  distances[0] = 0.5f;
  EXPECT_EQ(scored(depth, depth, {}, 32).task, Task::Unknown);
}

TEST(Keypoints, SimilarityByHand) {
  Outputs expected, got;
  // Five points in a square of 100 x 100 pixels; the last is not believed in.
  expected.add({1, 1, 5, 3}, "points") = {0,    0,   0.9f, 100,  0,  0.9f, 0,   100,
                                          0.9f, 100, 100,  0.9f, 50, 50,   0.1f};
  got.add({1, 1, 5, 3}, "points") = {0,    0,   0.9f, 100,  0, 0.9f, 0,   100,
                                     0.9f, 100, 90,   0.9f, 5, 5,    0.1f};
  const TaskResult result = scored(expected, got, {}, 192);
  EXPECT_EQ(result.task, Task::Keypoints) << result.reason;
  // One of four is 10 pixels off: exp(-100 / (2 * 10000 * 0.01)).
  EXPECT_NEAR(figure(result, "oks"), (3 + std::exp(-0.5)) / 4, 1e-9);
  EXPECT_NEAR(figure(result, "mean_distance"), 0.1 / 4, 1e-9);
  EXPECT_EQ(figure(result, "points"), 4);
}

TEST(Keypoints, MapsByRequest) {
  Outputs expected, got;
  expected.add({1, 2, 8, 10}, "maps");
  got.add({1, 2, 8, 10}, "maps");
  expected[0][1 * 10 + 1] = 1, expected[0][80 + 5 * 10 + 9] = 1;
  got[0][1 * 10 + 1] = 1, got[0][80 + 5 * 10 + 7] = 1;
  Request request;
  request.task = Task::Keypoints;
  const TaskResult result = scored(expected, got, request);
  // Points (1, 1) and (9, 5): area 32; the second is 2 off.
  EXPECT_NEAR(*result.agreement, (1 + std::exp(-4 / (2 * 32 * 0.01))) / 2, 1e-9);
}

TEST(Sequence, CtcCollapsesRepeatsAndBlanks) {
  const auto outputs = [](const std::vector<int>& tokens, bool recurrent) {
    Outputs result;
    const auto steps = static_cast<int64_t>(tokens.size());
    std::vector<float>& values = result.add(
        recurrent ? std::vector<int64_t>{steps, 1, 20} : std::vector<int64_t>{1, steps, 20}, "y",
        0.01f);
    for (size_t i = 0; i < tokens.size(); ++i)
      values[i * 20 + static_cast<size_t>(tokens[i])] = 0.81f;
    return result;
  };
  for (const bool recurrent : {false, true}) {
    // "3 3 5" against "3 5 6": a deletion and an insertion.
    const Outputs expected = outputs({0, 3, 3, 0, 3, 0, 5, 0}, recurrent);
    const TaskResult result = scored(expected, outputs({0, 3, 3, 3, 3, 0, 5, 6}, recurrent));
    EXPECT_EQ(result.task, Task::Sequence) << result.reason;
    EXPECT_EQ(result.head, "CTC");
    EXPECT_EQ(figure(result, "edits"), 2);
    EXPECT_EQ(figure(result, "tokens"), 3);
    EXPECT_NEAR(*result.agreement, 1.0 / 3, 1e-12);
    // Other repeats and blanks are the same text.
    const TaskResult same = scored(expected, outputs({3, 0, 0, 0, 3, 5, 5, 5}, recurrent));
    EXPECT_EQ(figure(same, "equal_sequences"), 1);
    EXPECT_EQ(same.agreement, 1.0);
  }
}

TEST(Sequence, NumbersOfTokens) {
  Outputs expected, got;
  expected.add({1, 5}, "tokens") = {4, 8, 15, 16, 23};
  got.add({1, 5}, "tokens") = {4, 8, 15, 23, 42};
  Request request;
  request.task = Task::Sequence;
  EXPECT_EQ(figure(scored(expected, got, request), "edits"), 2);
}

TEST(Regression, R2OfTheWorstValue) {
  TaskScorer scorer({{"a", "b"}, 1, 0, 0}, {});
  const float a[] = {1, 2, 3, 4}, b[] = {1000, 1001, 1002, 1003};
  const float changed[] = {1000, 1001, 1002, 1005};
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<int64_t> shape = {1, 1};
    const Tensor expected[] = {{shape, std::span(&a[i], 1)}, {shape, std::span(&b[i], 1)}};
    const Tensor got[] = {{shape, std::span(&a[i], 1)}, {shape, std::span(&changed[i], 1)}};
    ASSERT_TRUE(scorer.add(expected, got).ok());
  }
  const TaskResult result = scorer.result();
  EXPECT_EQ(result.task, Task::Regression) << result.reason;
  // The second has a spread of 5 and squared errors of 4.
  EXPECT_NEAR(figure(result, "r2"), 1 - 4.0 / 5, 1e-9);
  EXPECT_EQ(figure(result, "max_error"), 2);
  EXPECT_NEAR(*result.agreement, 0.2, 1e-9);
}

TEST(Classification, IsScoredElsewhere) {
  Outputs scores;
  scores.add({1, 1000}, "scores", 0.001f);
  const TaskResult result = scored(scores, scores, {}, 224);
  EXPECT_EQ(result.task, Task::Classification);
  EXPECT_TRUE(result.figures.empty());
  EXPECT_FALSE(result.agreement);
}

TEST(Tasks, BatchesAreTakenApart) {
  Interface interface {
    {"y"}, 2, 0, 0
  };
  const std::vector<int64_t> shape = {2, 1};
  const std::vector<float> expected = {1, 3}, got = {1, 2};
  TaskScorer scorer(interface, {});
  ASSERT_TRUE(
      scorer.add(std::vector{Tensor{shape, expected}}, std::vector{Tensor{shape, got}}).ok());
  EXPECT_EQ(scorer.task(), Task::Regression);
  // Spread 2, squared errors 1.
  EXPECT_NEAR(*scorer.agreement(), 0.5, 1e-12);
}

TEST(Tasks, Names) {
  for (const Task task : {Task::Classification, Task::Detection, Task::Segmentation,
                          Task::Keypoints, Task::Regression, Task::Sequence})
    EXPECT_EQ(parse_task(task_name(task)), task);
  EXPECT_EQ(parse_task("auto"), Task::Unknown);
}

}  // namespace
}  // namespace ec::tasks
