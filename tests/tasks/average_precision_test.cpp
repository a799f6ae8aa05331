#include "tasks/detection/average_precision.h"

#include <gtest/gtest.h>

namespace ec::tasks::detection {
namespace {

Detection at(float x, float score, int32_t label = 0) {
  return {{x, 0, x + 10, 10}, score, label, -1};
}

TEST(AveragePrecision, OneWrongBetweenTwoRight) {
  AveragePrecision ap;
  ap.add(std::vector{at(0, 1), at(100, 1)}, std::vector{at(0, 0.9f), at(50, 0.8f), at(100, 0.7f)});
  // Precision 1 up to recall 0.5 (51 points), 2/3 beyond (50 points).
  const double expected = (51 + 50 * 2.0 / 3) / 101;
  EXPECT_NEAR(ap.pooled()->ap50, expected, 1e-12);
  EXPECT_NEAR(ap.pooled()->ap50_95, expected, 1e-12);
  EXPECT_NEAR(ap.mean_of_classes()->ap50, expected, 1e-12);
}

TEST(AveragePrecision, OrderIsThatOfScores) {
  AveragePrecision ap;
  ap.add(std::vector{at(0, 1)}, std::vector{at(50, 0.9f), at(0, 0.3f)});
  EXPECT_NEAR(ap.pooled()->ap50, 0.5, 1e-12);
  // Samples share one order: the wrong one of the second sample comes before both.
  ap.add(std::vector<Detection>{}, std::vector{at(0, 0.95f)});
  EXPECT_NEAR(ap.pooled()->ap50, 1.0 / 3, 1e-12);
}

TEST(AveragePrecision, ScoresThatFallKeepThePrecisionAndAreCounted) {
  AveragePrecision ap;
  ap.add(std::vector{at(0, 0.9f), at(100, 0.8f)}, std::vector{at(0, 0.3f), at(100, 0.2f)});
  EXPECT_NEAR(ap.pooled()->ap50, 1, 1e-12);
  EXPECT_EQ(ap.found_above(0.25f), 1);
  EXPECT_EQ(ap.found_above(0.1f), 2);
}

TEST(AveragePrecision, OverlapDecides) {
  AveragePrecision ap;
  // 10x10 against 10x6.2 inside it: IoU 0.62, right at 0.5, 0.55 and 0.6.
  ap.add(std::vector{at(0, 1)}, std::vector<Detection>{{{0, 0, 10, 6.2f}, 0.9f, 0, -1}});
  EXPECT_NEAR(ap.pooled()->ap50, 1.0, 1e-12);
  EXPECT_NEAR(ap.pooled()->ap50_95, 0.3, 1e-12);
}

TEST(AveragePrecision, OneIsFoundOnce) {
  AveragePrecision ap;
  ap.add(std::vector{at(0, 1), at(100, 1)}, std::vector{at(0, 0.9f), at(1, 0.8f)});
  // The second hit on the first truth is wrong; recall stops at 0.5.
  EXPECT_NEAR(ap.pooled()->ap50, 51.0 / 101, 1e-12);
}

TEST(AveragePrecision, ClassesCountAlikeOrTogether) {
  AveragePrecision ap;
  // Class 0: three truths, all found. Class 7: one truth, missed.
  ap.add(std::vector{at(0, 1), at(20, 1), at(40, 1), at(60, 1, 7)},
         std::vector{at(0, 0.9f), at(20, 0.8f), at(40, 0.7f), at(60, 0.6f, 3)});
  EXPECT_NEAR(ap.mean_of_classes()->ap50, 0.5, 1e-12);
  EXPECT_NEAR(ap.pooled()->ap50, 76.0 / 101, 1e-12);
}

TEST(AveragePrecision, CrowdsAreNeitherRightNorWrong) {
  AveragePrecision ap;
  const std::vector<Detection> crowd = {{{40, 0, 80, 40}, 1, 0, -1}};
  ap.add(std::vector{at(0, 1)}, std::vector{at(50, 0.9f), at(0, 0.8f)}, crowd);
  EXPECT_NEAR(ap.pooled()->ap50, 1.0, 1e-12);
}

TEST(AveragePrecision, AnchorsAreComparedWithThemselves) {
  AveragePrecision ap;
  const std::vector<Detection> truth = {{{0, 0, 1, 1}, 1, 0, 5}};
  ap.add(truth, std::vector<Detection>{{{0, 0, 1, 1}, 0.9f, 0, 6}, {{0, 0, 1, 1}, 0.8f, 0, 5}});
  EXPECT_NEAR(ap.pooled()->ap50, 0.5, 1e-12);
}

TEST(AveragePrecision, NothingToFind) {
  AveragePrecision ap;
  EXPECT_FALSE(ap.pooled());
  ap.add(std::vector<Detection>{}, std::vector{at(0, 0.9f)});
  EXPECT_FALSE(ap.pooled());
  EXPECT_FALSE(ap.mean_of_classes());
}

}  // namespace
}  // namespace ec::tasks::detection
